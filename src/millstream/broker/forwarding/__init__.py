"""The way from a node to the active controller, wherever that runs."""
