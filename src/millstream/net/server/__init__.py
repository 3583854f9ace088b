"""The sockets of a broker: limits, back-pressure, frames in, answers out in order."""
