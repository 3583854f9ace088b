"""Session stores: plain and with headers."""
