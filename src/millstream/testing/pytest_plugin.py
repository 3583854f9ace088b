"""Pytest fixtures of Millstream."""
