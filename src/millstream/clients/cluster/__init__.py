"""A client's view of the cluster: metadata, connections by broker, coordinators."""
