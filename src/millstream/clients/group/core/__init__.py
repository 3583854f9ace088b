"""The two protocols of membership, and their embedded formats. PURE."""
