"""`format("millstream")` for writing: rows of any DataFrame into topics."""
