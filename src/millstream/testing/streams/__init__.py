"""Topologies in tests, without any broker: the topology test driver, a context for one processor, timelines."""
