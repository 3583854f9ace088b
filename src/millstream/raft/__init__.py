"""The quorum of the metadata log: who leads, what is committed. Kafka's pull-based Raft (KIP-595, KIP-853, KIP-996)."""
