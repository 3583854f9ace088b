"""Directories: what is in the data directory of a node and in that of a log, and how it is loaded and recovered."""
