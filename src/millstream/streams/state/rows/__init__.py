"""The layout of rows: timestamps, headers, segments, and the rows of a running batch."""
