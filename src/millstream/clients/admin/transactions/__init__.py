"""Admin calls on transactions and producers."""
