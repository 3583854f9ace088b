"""Partitions on this broker's disks: directories, flushing, cleaning, moves, failures."""
