"""Columns key and value of the sink, encoded: whole Arrow columns at a time where a format allows it."""
