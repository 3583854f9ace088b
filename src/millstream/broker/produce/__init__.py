"""The order and the width of produce requests."""
