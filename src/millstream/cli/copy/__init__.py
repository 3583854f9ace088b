"""`millstream copy`: records of a topic to another one, of the same cluster or of another."""
