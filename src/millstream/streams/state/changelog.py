"""Changelog records of one store since they were last taken: columns of key, value and timestamp."""

from __future__ import annotations


class Changelog:
    """Collects what a store writes. Values are those of the changelog, without the store's timestamp."""

    __slots__ = ("keys", "timestamps", "topic", "values")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = []

    def append(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        self.keys.append(key)
        self.values.append(value)
        self.timestamps.append(timestamp)

    def take(self) -> tuple[list[bytes | None], list[bytes | None], list[int]]:
        """The columns so far; collecting starts anew."""
        taken = (self.keys, self.values, self.timestamps)
        self.keys, self.values, self.timestamps = [], [], []
        return taken
