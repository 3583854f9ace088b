"""Changelog records of one store since they were last taken: columns of key, value and timestamp."""

from __future__ import annotations

from collections.abc import Iterable

Headers = tuple[tuple[str, bytes | None], ...]


class Changelog:
    """Collects what a store writes. Values are those of the changelog, without the store's timestamp."""

    __slots__ = ("headers", "keys", "timestamps", "topic", "values")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = []
        self.headers: dict[int, Headers] = {}
        """Headers of the records that have any, by position."""

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        if headers:
            self.headers[len(self.keys)] = headers
        self.keys.append(key)
        self.values.append(value)
        self.timestamps.append(timestamp)

    def extend(
        self,
        keys: Iterable[bytes | None],
        values: Iterable[bytes | None],
        timestamps: Iterable[int],
    ) -> None:
        """Append columns of records without headers."""
        self.keys += keys
        self.values += values
        self.timestamps += timestamps

    def note_headers(self, headers: Iterable[Headers]) -> None:
        """Give the headers of the records that are appended next."""
        for row, given in enumerate(headers, len(self.keys)):
            if given:
                self.headers[row] = given

    def take(self) -> tuple[list[bytes | None], list[bytes | None], list[int]]:
        """Returns the columns so far; collecting starts anew."""
        taken = (self.keys, self.values, self.timestamps)
        self.keys, self.values, self.timestamps, self.headers = [], [], [], {}
        return taken
