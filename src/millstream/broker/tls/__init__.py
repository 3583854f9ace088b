"""The TLS of a node: its listeners, its connections to others, and stores that change while it runs."""
