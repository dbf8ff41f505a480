"""What people use: terminals, editors, browsers, passkeys."""
