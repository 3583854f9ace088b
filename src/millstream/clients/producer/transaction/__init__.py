"""Transactions of a producer."""
