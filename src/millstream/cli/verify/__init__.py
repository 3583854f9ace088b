"""`millstream verify`: whether the files of a stopped node are what was written."""
