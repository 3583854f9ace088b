"""Topics and partitions that are made and deleted, and where their replicas go."""
