"""Admin calls as values, without I/O. PURE."""
