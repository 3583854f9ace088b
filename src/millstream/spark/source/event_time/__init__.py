"""How far a micro-batch of the source goes, and how far event time is after it."""
