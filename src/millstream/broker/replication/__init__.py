"""The edge of replication: what this broker tells the controller of the partitions that it leads."""
