"""The documents of opaque replay: beside the offsets in Spark's log, and in a store of its own. Pure.

Spark writes down the end of a micro-batch before it is read, and begins the next one there. A micro-batch that is tried
again while a partition is not available leaves that partition out: the end in the log is then not where the partition
is. Where it is, its position, is what the store keeps, under the id of the micro-batch. So each micro-batch has an id
in the log, and its begin stands beside its end:

    {"v": 2, "offsets": {"orders": {"0": 9}}, "opaque": {"id": "5f…", "store": "c0…", "number": 7, "begin": {"orders": {"0": 4}}, "unseen": {"orders": [1]}}}

Version 2: a release that knows nothing of it must not go on at those ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.data_loss import LogBounds

_KEY: Final = "opaque"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class OpaqueBatch:
    """A micro-batch as it is in Spark's log.

    `store` is the mark of the store that knows what became of it; `number` grows by one each time.
    """

    id: str
    store: str
    begin: Offsets
    end: Offsets
    number: int = 0


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The content of the store: the partitions that a micro-batch has left out, each with the position where it stays.

    Of the micro-batch that was tried last; before the first one `batch` is empty.
    """

    store: str
    batch: str = ""
    positions: Offsets = field(default_factory=dict)
    number: int = 0
    """That of the micro-batch: a checkpoint whose last one has a lower one is older than the store."""

    def to_bytes(self) -> bytes:
        document = {
            "v": _VERSION,
            "store": self.store,
            "batch": self.batch,
            "positions": plan.topics_json(self.positions),
            "number": self.number,
        }
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> HeldBack:
        """Raises ConfigError for anything but what `to_bytes` makes."""
        try:
            document = json.loads(data)
            version, positions = document["v"], plan.partition_offsets(document["positions"])
            number = int(document.get("number", 0))  # releases before had none
            found = cls(str(document["store"]), str(document["batch"]), positions, number)
        except (ConfigError, KeyError, TypeError, ValueError) as error:
            raise _unreadable(str(error)) from error
        if version != _VERSION:
            raise _unreadable(f"version {version!r}")
        return found


def _unreadable(why: str) -> ConfigError:
    return ConfigError(
        f"replayTopic holds what this release cannot read ({why}): give a topic that nothing else writes, or use the release that wrote it"
    )


def opaque_batch_in(document: Mapping[str, Any]) -> OpaqueBatch | None:  # JSON, as above
    """None for the start of a query, and for a micro-batch of a query with another replay."""
    found = document.get(_KEY, {})
    if "id" not in found:
        return None
    begin = plan.partition_offsets(found["begin"])
    number = int(found.get("number", 0))
    return OpaqueBatch(found["id"], found["store"], begin, plan.from_json(document), number)


def is_opaque(document: Mapping[str, Any]) -> bool:  # JSON, as above
    return _KEY in document


def unseen_in(document: Mapping[str, Any]) -> frozenset[TopicPartition]:  # JSON, as above
    """Partitions that were there when the query began, and not available yet: where they begin is
    still to be decided.
    """
    topics = document.get(_KEY, {}).get("unseen", {})
    return frozenset(
        TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers
    )


def start_document(begin: Offsets, unseen: Iterable[TopicPartition]) -> dict[str, Any]:  # JSON
    """The document of a query that has read nothing yet."""
    return {**plan.to_json(begin), "v": plan.OPAQUE_VERSION, _KEY: _unseen_json(unseen)}


def batch_document(batch: OpaqueBatch, unseen: Iterable[TopicPartition]) -> dict[str, Any]:  # JSON
    about = {
        "id": batch.id,
        "store": batch.store,
        "number": batch.number,
        "begin": plan.topics_json(batch.begin),
    }
    return start_document(batch.end, ()) | {_KEY: about | _unseen_json(unseen)}


def _unseen_json(unseen: Iterable[TopicPartition]) -> dict[str, dict[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(unseen):
        topics.setdefault(topic, []).append(number)
    return {"unseen": topics} if topics else {}


def readable(batch: OpaqueBatch, logs: Mapping[TopicPartition, LogBounds]) -> set[TopicPartition]:
    """The partitions whose logs have all that the micro-batch reads of them."""
    return {
        tp
        for tp, begin in batch.begin.items()
        if (log := logs.get(tp)) is not None
        and log.first <= begin
        and batch.end.get(tp, begin) <= log.end
    }


def left_out(
    batch: OpaqueBatch, available: Iterable[TopicPartition]
) -> dict[TopicPartition, Offset]:
    """The positions of partitions that have something in the micro-batch, and are not available:
    they stay where it begins.
    """
    there = frozenset(available)
    return {
        tp: begin
        for tp, begin in batch.begin.items()
        if tp not in there and batch.end.get(tp, begin) > begin
    }
