"""Brokers: registration, heartbeats, fencing, features, leaving."""
