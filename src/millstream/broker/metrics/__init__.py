"""What a node counts of itself, and the text Prometheus reads it in. `node_metrics` is what hooks write to."""
