"""Window stores: plain, timestamped, with headers."""
