"""The requests of the metadata quorum between raft's values and Kafka's messages, in both directions.

Decides nothing.
"""
