"""Leaders, in-sync replicas and replicas of partitions that exist."""
