"""`millstream server`: a node in this process."""
