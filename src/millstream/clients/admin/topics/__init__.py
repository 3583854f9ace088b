"""Admin calls on topics and their offsets."""
