"""Records one by one, each acknowledged by itself: Storm's KafkaSpout as a client."""
