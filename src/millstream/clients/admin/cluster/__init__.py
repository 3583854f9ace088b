"""Admin calls on brokers, features, the quorum and replicas."""
