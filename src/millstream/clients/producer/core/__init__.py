"""The decisions of a producer: partitions, batches, sequences, retries. PURE."""
