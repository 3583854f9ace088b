"""Remembers the partitions that moved between members while an assignment is being balanced.

So that two partitions of a topic do not change places: when one is to go from A to B while another has come from B to
A, that other one goes back instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.model import TopicPartition

_Pair = tuple[str, str]


@dataclass(slots=True)
class Movements:
    _pairs: dict[TopicPartition, _Pair] = field(default_factory=dict)
    """By partition: where it came from at first, and where it is now."""
    _moved: dict[tuple[str, _Pair], dict[TopicPartition, None]] = field(default_factory=dict)
    """By topic and pair: what moved so, in order."""

    def to_move(self, partition: TopicPartition, giver: str, taker: str) -> TopicPartition:
        """Returns the partition that had better go from `giver` to `taker`: this one, or one that
        came the other way.
        """
        origin = self._pairs[partition][0] if partition in self._pairs else giver
        came = self._moved.get((partition.topic, (taker, origin)))
        return next(iter(came)) if came else partition

    def record(self, partition: TopicPartition, giver: str, taker: str) -> None:
        origin = giver
        if partition in self._pairs:
            pair = self._pairs.pop(partition)
            origin = pair[0]
            moved = self._moved[partition.topic, pair]
            del moved[partition]
        if origin != taker:
            self._pairs[partition] = (origin, taker)
            self._moved.setdefault((partition.topic, (origin, taker)), {})[partition] = None
