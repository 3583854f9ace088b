"""Values, serialization, Arrow batches and names that all clients share. PURE."""
