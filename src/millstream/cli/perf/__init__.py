"""`millstream perf`: how fast a cluster takes records, gives them back, and how long one takes from end to end."""
