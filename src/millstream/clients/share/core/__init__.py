"""The decisions of a share consumer: sessions, acknowledgements, membership. PURE."""
