"""Limits on what clients take: rates, token buckets, and the waits of those who took more. See README.md."""
