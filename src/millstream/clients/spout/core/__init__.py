"""The pure part of the spout: which offsets are done, what is given out next, and when a failed record is due again."""
