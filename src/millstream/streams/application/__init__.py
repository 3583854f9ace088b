"""`KafkaStreams`: a topology as an application of its own, without Spark.

Members of one group share its tasks (KIP-1071).
"""
