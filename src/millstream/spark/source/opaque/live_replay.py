"""Opaque replay, performed: partitions that are not available are left out of plans, and of micro-batches that are
tried again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence

from millstream.errors import MillstreamError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.runtime import Clock
from millstream.runtime.system import SystemRandom
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.opaque.documents import (
    OpaqueBatch,
    is_opaque,
    opaque_batch_in,
    readable,
    start_document,
    unseen_in,
)
from millstream.spark.source.opaque.replay import OpaqueReplay
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import (
    answers,
    bounds_of,
    late_choices,
    link_of,
    look_up,
    topic_ids,
)
from millstream.spark.source.positions import EARLIEST, LATEST, ChosenOffset
from millstream.spark.source.reading import RangesPartition, split
from millstream.spark.source.replay import Document, NewDocument
from millstream.spark.states.topic_backing import TopicBacking

_LOGGER = logging.getLogger(__name__)


class DriverGone(MillstreamError):
    """The driver of this query has ended: nothing may be written for it any more."""


class LiveOpaqueReplay:
    """Opaque replay over the cluster and the replay topic, which it opens when it needs them."""

    def __init__(self, options: SourceOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._driver_pid = os.getppid()
        self._backing: TopicBacking | None = None
        self._replay: OpaqueReplay | None = None
        self._unseen: frozenset[TopicPartition] = frozenset()
        """Of the micro-batch that is planned: partitions whose beginning is not decided."""
        self._missed: frozenset[TopicPartition] = frozenset()

    def beginning(self, begin: Offsets) -> NewDocument:
        unseen = answers(self._options, EARLIEST).keys() - begin.keys()
        self._tell_of_missing(unseen)
        return start_document(begin, unseen)

    def positions_after(
        self, start: Document
    ) -> tuple[Offsets, Mapping[TopicPartition, ChosenOffset]]:
        positions = self._opened().positions_after(start)
        self._unseen = unseen_in(start)
        if not self._unseen:
            return positions, {}
        choices = late_choices(self._options, self._unseen, self._clock.now().wall_ms)
        return {**positions, **{tp: choice.offset for tp, choice in choices.items()}}, choices

    def available(self, begin: Offsets, ends: Offsets, *, is_bounded: bool) -> Offsets:
        if is_bounded:  # a log may have been cut since
            now = look_up(self._options, LATEST)
            ends = {tp: Offset(min(end, now[tp])) for tp, end in ends.items() if tp in now}
        missing: frozenset[TopicPartition] = frozenset()
        if not begin.keys() <= ends.keys():
            found = answers(self._options, LATEST)
            missing = frozenset(tp for tp in begin.keys() - ends.keys() if tp in found)
        self._tell_of_missing(missing)
        return {**ends, **{tp: begin[tp] for tp in missing}}

    def with_found(self, begin: Offsets, found: Offsets) -> Offsets:
        return {**{tp: at for tp, at in found.items() if tp not in self._unseen}, **begin}

    def ends_of(self, begin: Offsets, ends: Offsets) -> Offsets:
        return {tp: end for tp, end in ends.items() if tp in begin}

    def document(
        self, start: Document, begin: Offsets, end: Offsets, ids: Mapping[str, Uuid]
    ) -> NewDocument:
        replay, former = self._opened(), plan.topic_ids_in(start)
        latest = plan.topic_ids_in(plan.with_topic_ids({**start, **plan.to_json(end)}, ids))
        if end == replay.positions_after(start) and latest == former:
            return dict(start)
        document = replay.planned(start, begin, end)
        return {**document, "topicIds": latest} if latest else document

    def ranges(self, end: Document) -> Sequence[RangesPartition] | None:
        batch = opaque_batch_in(end)
        if batch is None:
            # A micro-batch of nothing, where the query begins, or one that was begun with another replay.
            return [] if is_opaque(end) else None
        ids = plan.topic_ids_in(end)
        begin = self._opened().begin_to_read(batch, lambda: self._still_there(batch, ids))
        _tell_of_left_out(batch, begin)
        epochs = link_of(self._options).leader_epochs(begin)
        return split(begin, {tp: batch.end[tp] for tp in begin}, self._options, ids, epochs)

    def close(self) -> None:
        backing, self._backing, self._replay = self._backing, None, None
        if backing is not None:
            backing.close()

    def _still_there(self, batch: OpaqueBatch, ids: Mapping[str, str]) -> set[TopicPartition]:
        """The partitions from which all of the micro-batch can be read now, as far as their leaders say."""
        now = {name: str(id_) for name, id_ in topic_ids(self._options, anew=True).items()}
        there = readable(batch, bounds_of(self._options))
        return {tp for tp in there if now.get(tp.topic) == ids.get(tp.topic, now.get(tp.topic))}

    def _opened(self) -> OpaqueReplay:
        if self._replay is None:
            # Made here: what draws from the system cannot be pickled.
            topic, random = self._options.replay_topic, SystemRandom()
            assert topic is not None, "opaque replay has a topic"
            self._backing = TopicBacking(topic, self._options.kafka.of_client())
            self._replay = OpaqueReplay(
                self._backing, lambda: random.randbytes(8).hex(), self._require_driver
            )
        return self._replay

    def _require_driver(self) -> None:
        """The parent of the process that plans is the driver, or what the driver starts its
        processes with and takes along.
        """
        if os.getppid() != self._driver_pid:
            raise DriverGone("the driver of this query has ended: its process that plans ends, too")

    def _tell_of_missing(self, missing: frozenset[TopicPartition] | set[TopicPartition]) -> None:
        for tp in sorted(missing - self._missed):
            _LOGGER.warning(
                "%s is not available, and gives nothing until it is (replay=opaque)", tp
            )
        for tp in sorted(self._missed - missing):
            _LOGGER.warning("%s is available again", tp)
        self._missed = frozenset(missing)


def _tell_of_left_out(batch: OpaqueBatch, begin: Offsets) -> None:
    for tp in sorted(batch.begin.keys() - begin.keys()):
        _LOGGER.warning(
            "%s is left out of a micro-batch that was planned with its offsets %d to %d; a later one reads them (replay=opaque)",
            tp,
            batch.begin[tp],
            batch.end[tp],
        )
