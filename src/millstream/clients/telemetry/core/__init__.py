"""The metrics that are pushed, their times and their format. PURE."""
