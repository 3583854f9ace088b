"""The graph behind the DSL: one node per call, and the topology that it becomes. Knows none of the public classes."""
