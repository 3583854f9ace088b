"""Metrics of an application and its stream threads, with Kafka Streams' names, groups and tags."""
