"""Share groups on a broker: sessions, share partitions, fetching, acknowledging, stored state (KIP-932)."""
