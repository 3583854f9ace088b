"""The group coordinator: classic groups and committed offsets of one `__consumer_offsets` partition."""
