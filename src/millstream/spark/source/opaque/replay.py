"""Opaque replay, decided: which partitions a try of a micro-batch leaves out, and where the next micro-batch begins.

What a try leaves out is in the store before anything is read. The last try of a micro-batch is the one that Spark
commits, and nothing of an earlier one gets into the store after it: so where the next micro-batch begins follows from
Spark's log and the store. The crash cases stand in docs/adr/0017-opaque-replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.opaque.documents import (
    HeldBack,
    OpaqueBatch,
    batch_document,
    left_out,
    opaque_batch_in,
    unseen_in,
)
from millstream.spark.states.states import Backing

_KEY: Final = "held-back"

Document = Mapping[str, Any]  # JSON of Spark's offset log


class OpaqueReplay:
    """Of one start of a query, in the process that plans.

    `backing` takes over when it is first asked, and refuses to write once another process has. `require_driver` raises
    when the driver of this process is gone: such a process may be late enough to take over from the one that came after
    it, and must not write then.
    """

    def __init__(
        self, backing: Backing, new_id: Callable[[], str], require_driver: Callable[[], None]
    ) -> None:
        """`new_id` gives another text each time."""
        self._backing = backing
        self._new_id = new_id
        self._require_driver = require_driver
        self._tried: dict[str, Offsets] = {}
        """What this start has left out, by micro-batch: Spark may ask for the ranges of one several times."""

    def positions_after(self, document: Document) -> Offsets:
        """The positions of partitions behind a micro-batch that is in Spark's commit log."""
        ends, batch = plan.from_json(document), opaque_batch_in(document)
        if batch is None:
            return ends
        held = self._kept_for(batch)
        return {**ends, **held.positions} if held.batch == batch.id else ends

    def planned(self, start: Document, begin: Offsets, end: Offsets) -> dict[str, Any]:  # JSON
        """The document of the micro-batch that follows `start`."""
        before = opaque_batch_in(start)
        store = self._new_store() if before is None else before.store
        number = 1 if before is None else before.number + 1
        batch = OpaqueBatch(self._new_id(), store, begin, end, number)
        return batch_document(batch, unseen_in(start) - begin.keys())

    def begin_to_read(
        self, batch: OpaqueBatch, available: Callable[[], Iterable[TopicPartition]]
    ) -> Offsets:
        """The begin of the ranges that a micro-batch reads now.

        The other partitions are in the store when this returns.
        """
        held = self._tried.get(batch.id)
        if held is None:
            before = self._kept_for(batch)
            held = left_out(batch, available())
            if held or before.batch == batch.id:
                self._keep(HeldBack(batch.store, batch.id, held, batch.number))
            self._tried = {batch.id: held}
        return {tp: offset for tp, offset in batch.begin.items() if tp not in held}

    def _kept_for(self, batch: OpaqueBatch) -> HeldBack:
        (data,) = self._backing.multi_get([_KEY])
        held = None if data is None else HeldBack.from_bytes(data)
        if held is None or held.store != batch.store:
            raise ConfigError(
                "replayTopic does not have what this checkpoint was told to find there: the topic was made anew, or another query has used "
                "it. Give the topic of before and to each query its own, or start with a new checkpoint"
            )
        if held.number > batch.number:
            raise ConfigError(
                f"replayTopic knows what micro-batch {held.number} of this query has left out, and its checkpoint is at micro-batch "
                f"{batch.number}: an older checkpoint was put back, and what was left out up to there is not known any more. Put back the "
                "later one, or start with a new checkpoint"
            )
        return held

    def _new_store(self) -> str:
        store = self._new_id()
        self._keep(HeldBack(store))
        return store

    def _keep(self, held: HeldBack) -> None:
        self._backing.multi_get([])  # takes over: a driver that is there after that is the last one
        self._require_driver()
        self._backing.multi_put({_KEY: held.to_bytes()})
