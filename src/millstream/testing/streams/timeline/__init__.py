"""Draws what a topology does with its input, in time."""
