"""What a share consumer decides: sessions, acknowledgements, membership. PURE."""
