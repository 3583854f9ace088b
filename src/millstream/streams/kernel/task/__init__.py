"""StreamTask and its parts: inputs, traversal of the operators, stores, caches, sinks, failures."""
