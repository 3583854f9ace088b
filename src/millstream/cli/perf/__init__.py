"""`millstream perf`: the throughput of producing and consuming, and the latency from end to end."""
