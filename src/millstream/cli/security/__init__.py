"""`millstream acls`, `users`, `tokens`, `quotas`: who may come in, what they may do, and how much."""
