"""`millstream storage`: directories of a node, before it runs."""
