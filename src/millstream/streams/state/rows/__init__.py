"""How rows are laid out: timestamps, headers, segments, and the rows of a running batch."""
