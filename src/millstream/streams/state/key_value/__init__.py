"""Key-value stores: plain, timestamped, with headers, bounded, versioned."""
