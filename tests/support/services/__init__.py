"""Servers on loopback that stand for what is elsewhere: models, registries, stores of bundles, nodes."""
