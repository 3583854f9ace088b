"""The share coordinator: what share groups have done with each partition, kept in `__share_group_state` (KIP-932)."""
