"""The streaming source with opaque replay: partitions that are not available are left out of plans, and of
micro-batches that are tried again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from millstream.errors import MillstreamError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.runtime.system import SystemClock, SystemRandom
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
from millstream.spark.source.planning import answers, bounds_of, late_choices, look_up, topic_ids
from millstream.spark.source.positions import EARLIEST, LATEST
from millstream.spark.source.reading import RangesPartition, split
from millstream.spark.source.rows.decoding import Decoding
from millstream.spark.source.stream_reader import StreamReader
from millstream.spark.states.topic_backing import TopicBacking
from millstream.spark.told_errors import in_one_line

_LOGGER = logging.getLogger(__name__)
_CLOCK: Final = SystemClock()


class DriverGone(MillstreamError):
    """The driver of this query has ended: nothing may be written for it any more."""


class OpaqueStreamReader(StreamReader):
    def __init__(self, options: SourceOptions, decoding: Decoding | None = None) -> None:
        super().__init__(options, decoding)
        self._driver_pid = os.getppid()
        self._backing: TopicBacking | None = None
        self._replay: OpaqueReplay | None = None
        self._unseen: frozenset[TopicPartition] = frozenset()
        """Of the micro-batch that is planned: partitions whose beginning is not decided."""
        self._missed: frozenset[TopicPartition] = frozenset()

    @in_one_line
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name; the values are JSON
        document = super().initialOffset()
        begin = plan.from_json(document)
        unseen = answers(self._options, EARLIEST).keys() - begin.keys()
        self._tell_of_missing(unseen)
        return plan.with_topic_ids(start_document(begin, unseen), topic_ids(self._options))

    def _positions(self, start: Mapping[str, Any]) -> Offsets:  # JSON
        positions = self._opened().positions_after(start)
        self._unseen = unseen_in(start)
        if self._unseen:
            choices = late_choices(self._options, self._unseen, _CLOCK.now().wall_ms)
            self._reporting.note_starts(choices)
            positions = {**positions, **{tp: choice.offset for tp, choice in choices.items()}}
        return positions

    def _available(self, begin: Offsets, ended: Collection[TopicPartition]) -> Offsets:
        ends = dict(super()._available(begin, ended))
        if self._last is not None:  # a log may have been cut since
            now = look_up(self._options, LATEST)
            ends = {tp: Offset(min(end, now[tp])) for tp, end in ends.items() if tp in now}
        missing: frozenset[TopicPartition] = frozenset()
        if not begin.keys() <= ends.keys():
            found = answers(self._options, LATEST)
            missing = frozenset(tp for tp in begin.keys() - ends.keys() if tp in found)
        self._tell_of_missing(missing)
        return {**ends, **{tp: begin[tp] for tp in missing}}

    def _readable(
        self, begin: Offsets, available: Offsets, ended: Offsets, former: Mapping[str, str]
    ) -> tuple[Offsets, Offsets, Offsets]:
        begin, available, ended = super()._readable(begin, available, ended, former)
        return begin, {tp: end for tp, end in available.items() if tp in begin}, ended

    def _with_new_partitions(self, begin: Offsets, end: Offsets) -> Offsets:
        found = super()._with_new_partitions(begin, end)
        return {tp: at for tp, at in found.items() if tp in begin or tp not in self._unseen}

    def _document(
        self,
        start: Mapping[str, Any],  # JSON
        begin: Offsets,
        end: Offsets,
        ids: Mapping[str, Uuid],
    ) -> dict[str, Any]:  # JSON
        replay, former = self._opened(), plan.topic_ids_in(start)
        latest = plan.topic_ids_in(plan.with_topic_ids({**start, **plan.to_json(end)}, ids))
        if end == replay.positions_after(start) and latest == former:
            return dict(start)
        document = replay.planned(start, begin, end)
        return {**document, "topicIds": latest} if latest else document

    @in_one_line
    def partitions(
        self,
        start: dict[str, Any],  # JSON
        end: dict[str, Any],  # JSON
    ) -> Sequence[RangesPartition]:
        batch = opaque_batch_in(end)
        if batch is None:
            # A micro-batch of nothing, where the query begins, or one that was begun with another replay.
            return [] if is_opaque(end) else super().partitions(start, end)
        ids = plan.topic_ids_in(end)
        begin = self._opened().begin_to_read(batch, lambda: self._still_there(batch, ids))
        _tell_of_left_out(batch, begin)
        return split(begin, {tp: batch.end[tp] for tp in begin}, self._options, ids)

    def _still_there(self, batch: OpaqueBatch, ids: Mapping[str, str]) -> set[TopicPartition]:
        """The partitions from which all of the micro-batch can be read now, as far as their leaders say."""
        now = {name: str(id_) for name, id_ in topic_ids(self._options, anew=True).items()}
        there = readable(batch, bounds_of(self._options))
        return {tp for tp in there if now.get(tp.topic) == ids.get(tp.topic, now.get(tp.topic))}

    def stop(self) -> None:
        super().stop()
        backing, self._backing, self._replay = self._backing, None, None
        if backing is not None:
            backing.close()

    def _opened(self) -> OpaqueReplay:
        if self._replay is None:
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
