"""The producer: batches, delivery, transactions."""
