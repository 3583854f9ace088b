"""Formats of keys and values, which the source reads and the sink writes: their options, their
schemas, and Spark's types of them.
"""
