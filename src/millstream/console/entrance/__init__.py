"""The entrance of the console: address, logins, sessions, forms."""
