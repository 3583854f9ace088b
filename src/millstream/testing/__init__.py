"""Public helpers for tests: embedded brokers, simulated clock and disk, the topology test driver."""
