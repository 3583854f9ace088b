"""Faults between clients and brokers: what is to go wrong, and the proxy that makes it happen."""
