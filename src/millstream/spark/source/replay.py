"""The kinds of replay: what a query reads where it begins, in the next micro-batch, and in one that is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from millstream.errors import ConfigError
from millstream.model import TopicPartition, Uuid
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.opaque.documents import is_opaque
from millstream.spark.source.positions import ChosenOffset
from millstream.spark.source.reading import RangesPartition

Document = Mapping[str, Any]  # JSON of Spark's offset log
NewDocument = dict[str, Any]  # the same, to be written


class Replay(Protocol):
    """Asked by the reader that plans a query, for one start of it."""

    def beginning(self, begin: Offsets) -> NewDocument:
        """The document of a new query that begins with these partitions."""

    def positions_after(
        self, start: Document
    ) -> tuple[Offsets, Mapping[TopicPartition, ChosenOffset]]:
        """Returns the positions of partitions behind the last micro-batch, whose end is `start`, and those of them
        whose beginning was chosen only now.
        """

    def available(self, begin: Offsets, ends: Offsets, *, is_bounded: bool) -> Offsets:
        """The ends up to which there is something to read, of those that the cluster or the end of the query gives."""

    def with_found(self, begin: Offsets, found: Offsets) -> Offsets:
        """The positions of `begin`, and of those that were `found` what the next micro-batch may read."""

    def ends_of(self, begin: Offsets, ends: Offsets) -> Offsets:
        """The ends that a micro-batch may have that reads from `begin`."""

    def document(
        self, start: Document, begin: Offsets, end: Offsets, ids: Mapping[str, Uuid]
    ) -> NewDocument:
        """Returns what Spark writes down for the micro-batch; the same as `start` where there is none."""

    def ranges(self, end: Document) -> Sequence[RangesPartition] | None:
        """The ranges of the micro-batch that ends there; None where they are what Spark's log says."""

    def close(self) -> None: ...


class TransactionalReplay:
    """A micro-batch that is tried again reads what it read before, as the documents say, or fails."""

    def beginning(self, begin: Offsets) -> NewDocument:
        return plan.as_beginning(plan.to_json(begin))

    def positions_after(
        self, start: Document
    ) -> tuple[Offsets, Mapping[TopicPartition, ChosenOffset]]:
        _require_transactional(start)
        return plan.from_json(start), {}

    def available(self, begin: Offsets, ends: Offsets, *, is_bounded: bool) -> Offsets:
        del begin, is_bounded
        return ends

    def with_found(self, begin: Offsets, found: Offsets) -> Offsets:
        return {**found, **begin}

    def ends_of(self, begin: Offsets, ends: Offsets) -> Offsets:
        del begin
        return ends

    def document(
        self, start: Document, begin: Offsets, end: Offsets, ids: Mapping[str, Uuid]
    ) -> NewDocument:
        del begin
        if end == plan.from_json(start) and not plan.topic_ids_in(start):
            return dict(start)  # another document would be a micro-batch of nothing
        return plan.with_topic_ids({**start, **plan.to_json(end)}, ids)

    def ranges(self, end: Document) -> Sequence[RangesPartition] | None:
        _require_transactional(end)
        return None

    def close(self) -> None:
        """Nothing is open."""


def _require_transactional(document: Document) -> None:
    if is_opaque(document):
        raise ConfigError(
            "the checkpoint was made with replay=opaque, and what was left out stands in its replayTopic: read with both options as "
            "before, or start with a new checkpoint"
        )
