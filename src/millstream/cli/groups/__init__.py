"""`millstream groups`: lists and describes groups, moves their offsets, deletes them."""
