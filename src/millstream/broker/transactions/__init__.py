"""Transactions on a broker: produces in them, markers, completion, producer ids."""
