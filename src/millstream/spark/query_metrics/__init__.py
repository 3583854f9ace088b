"""Metrics of the sources of running queries, by the names that Storm and Flink have for them."""
