"""`millstream cluster reassign`: replicas move to other brokers."""
