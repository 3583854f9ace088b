"""Opaque replay: a partition that is not available gives nothing in a micro-batch, and what it owes in a later one."""
