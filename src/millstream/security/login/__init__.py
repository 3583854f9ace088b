"""Logging in, from the server's side: one machine for each SASL mechanism, and one for a connection.

See ../README.md.
"""
