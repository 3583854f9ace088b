"""Tells a task how far those have come that write the repartition topics which it reads (ADR 0021)."""
