"""The edge of the coordinators: their partitions of internal topics, and the way from a request to a shard."""
