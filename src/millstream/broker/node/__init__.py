"""One node: its parts, the order in which they start and stop, and its life."""
