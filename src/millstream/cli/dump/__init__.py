"""`millstream dump`: what stands in the files of a log."""
