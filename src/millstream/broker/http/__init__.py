"""The node's HTTP pages: health and metrics."""
