"""The runtime of stream tasks: what makes a task's outputs, changelogs and offsets visible together, exactly once.

Knows neither Spark nor threads: a runner starts an `ActiveTask`, tells it how far to read, and
throws it away when it fails.
"""
