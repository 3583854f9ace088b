"""Buffers of operators: suppressed changes, records that wait for a table or for a partner."""
