"""Operators that fold records or changes into the rows of a store."""
