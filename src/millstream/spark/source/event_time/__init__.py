"""The end of a micro-batch of the source, and the event time after it."""
