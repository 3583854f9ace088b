"""Fetch sessions (KIP-227) and the search for offsets by time."""
