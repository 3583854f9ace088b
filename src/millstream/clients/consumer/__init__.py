"""The consumer: fetching, positions, commits."""
