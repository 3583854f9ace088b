"""The states of a transaction, and what is asked of its coordinator. PURE."""
