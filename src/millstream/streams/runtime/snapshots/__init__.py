"""Snapshots of the stores of a task on shared storage: what one says of itself, its files, and when
they are taken and fetched.
"""
