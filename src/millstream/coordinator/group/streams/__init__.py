"""Streams groups (KIP-1071): members bring a topology, the coordinator gives them tasks."""
