"""Settings of outgoing connections, and how settings are declared. PURE."""
