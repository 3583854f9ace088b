"""The cluster as its clients are told of it: brokers, leaders, features, topics created on demand."""
