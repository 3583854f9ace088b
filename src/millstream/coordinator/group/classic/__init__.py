"""Classic groups: one of the members assigns the partitions."""
