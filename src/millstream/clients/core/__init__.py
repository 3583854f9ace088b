"""What all clients share, without I/O: values, serialization, Arrow batches, names. PURE."""
