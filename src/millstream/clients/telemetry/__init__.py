"""Metrics that brokers ask clients for (KIP-714)."""
