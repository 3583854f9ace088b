"""Producers as a log knows them: sequences, epochs, open transactions, and their snapshots."""
