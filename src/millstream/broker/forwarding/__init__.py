"""The ways from a node to the active controller and to other brokers, wherever they run."""
