"""What an admin call is, without I/O. PURE."""
