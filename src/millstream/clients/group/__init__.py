"""Membership in groups of consumers, by either protocol."""
