"""Coordinators as deterministic state machines: what a coordinator decides, never how its records
reach a disk or a socket.

README.md says how the parts fit together.
"""
