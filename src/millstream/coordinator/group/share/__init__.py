"""Share groups (KIP-932): their members, what they are assigned, and which partitions have share state."""
