"""Server-side assignors: pure functions from subscriptions and the assignment in force to the next one."""
