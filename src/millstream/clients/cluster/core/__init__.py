"""The cluster's metadata, and when it is to be asked for. PURE."""
