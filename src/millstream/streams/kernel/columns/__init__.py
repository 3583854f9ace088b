"""The data that operators pass on: batches of rows as columns."""
