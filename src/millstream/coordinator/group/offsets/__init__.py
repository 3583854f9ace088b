"""Offsets that groups commit: committing, fetching, deleting and expiring them."""
