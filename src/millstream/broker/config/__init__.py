"""Settings of a broker: Kafka's keys, where their values come from, and how they change while the node runs."""
