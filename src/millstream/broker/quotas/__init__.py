"""Quotas of clients in force: requests are charged, and clients above their quota wait (KIP-13, KIP-219)."""
