"""Operators that join streams and tables."""
