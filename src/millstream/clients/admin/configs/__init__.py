"""Admin calls on configs and client quotas."""
