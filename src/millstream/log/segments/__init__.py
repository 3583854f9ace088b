"""Files of a segment: records, indexes of offsets, times and transactions."""
