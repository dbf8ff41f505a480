"""What runs while a test looks on: proxies, gateways and sessions in front of servers."""
