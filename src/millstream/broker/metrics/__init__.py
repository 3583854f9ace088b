"""The metrics of a node and the text format in which Prometheus reads them. Hooks write to `node_metrics`."""
