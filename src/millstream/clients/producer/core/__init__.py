"""What a producer decides: partitions, batches, sequences, retries. PURE."""
