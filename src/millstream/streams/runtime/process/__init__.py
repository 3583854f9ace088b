"""Processes that run tasks: how they are prepared, and how messages travel between them."""
