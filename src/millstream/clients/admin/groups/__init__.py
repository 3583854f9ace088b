"""Admin calls on groups, their members and offsets."""
