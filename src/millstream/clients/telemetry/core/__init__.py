"""Which metrics are pushed, when, and their format. PURE."""
