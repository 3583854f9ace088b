"""The cluster's metadata as data: configuration tables, the immutable image, and deltas replayed from the log."""
