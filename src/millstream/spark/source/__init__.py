"""`format("millstream")` for reading: ranges of offsets as rows, planned in the driver and read in workers."""
