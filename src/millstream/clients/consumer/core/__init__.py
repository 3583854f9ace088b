"""The decisions of a consumer: subscriptions, positions, fetches, records. PURE."""
