"""What a consumer decides: subscriptions, positions, fetches, records. PURE."""
