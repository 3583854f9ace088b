"""Compaction: what is cleaned, what stays of it, and the cleaning itself."""
