"""`millstream configs`: settings that a cluster holds."""
