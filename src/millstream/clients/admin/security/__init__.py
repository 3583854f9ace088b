"""Admin calls on access control lists and credentials."""
