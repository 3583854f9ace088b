"""Ends the transactions of a micro-batch whose writers have left them open: all of them, or none.

Runs once all writers have written, in one process. It looks at the marks of every writer that there may have been, also
of those that the micro-batch does not have now, and nothing is visible before all of them agree. The mark of the start
then lets the writers of later micro-batches commit by themselves.

What may happen meanwhile: another driver on the same checkpoint. Both take over one transactional id, and
whoever loses it ends nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from millstream.clients import Producer
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    MillstreamError,
    ProducerFenced,
)
from millstream.model import TopicPartition
from millstream.spark.connections import TRANSACTIONAL_MAX, Connections
from millstream.spark.sink.marks import BatchMark, StartMark
from millstream.spark.sink.options import SinkOptions
from millstream.spark.sink.transactions import (
    Unfinished,
    causes_raised,
    marks_in,
    metadata_of,
    send_mark,
    tell_of_left_out,
)
from millstream.spark.sink.verdicts import Verdict, judge, judge_others

_LOGGER = logging.getLogger(__name__)
_LOST: Final = (ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping, InvalidTxnState)


class TransactionLost(MillstreamError):
    """A transaction of a micro-batch was ended by somebody else before all of it was written."""


def finish_writes(link: Connections, options: SinkOptions, left: Sequence[Unfinished]) -> None:
    """Makes the micro-batch visible.

    Raises BatchChanged, CheckpointBehind, TransactionLost, and what clients raise: none of it is then.
    """
    if left:
        _Finish(link, options, left).run()


def abandon_writes(link: Connections, left: Sequence[Unfinished]) -> None:
    """Aborts what writers have left open, so that readers do not wait for it.

    Failing is logged: brokers do it at the time limit.
    """
    ids = [each.write.transactional_id for each in left if each.shared is not None]
    if not ids:
        return
    try:
        link.run(link.admin().fence_producers(ids)).raise_errors()
    except MillstreamError as error:
        _LOGGER.warning("open transactions are left to their time limit: %s", error)


class _Finish:
    """The end of one micro-batch."""

    def __init__(self, link: Connections, options: SinkOptions, left: Sequence[Unfinished]) -> None:
        self._link = link
        self._policy = options.checkpoint_behind
        self._left = left
        self._write = left[0].write
        self._mark = self._write.mark
        self._writers = max(each.write.partition for each in left) + 1
        self._place = next((each.place for each in left if each.place is not None), None)

    def run(self) -> None:
        start_id = self._write.start_id
        try:
            with causes_raised():
                producer = self._link.transactional_producer(start_id)
                self._link.run(producer.init_transactions())
                verdict = self._looked(producer)
        finally:
            self._link.discard_transactional_producer(start_id)
        if verdict is Verdict.LEFT_OUT:
            tell_of_left_out(self._mark)
            abandon_writes(self._link, self._left)
        else:
            self._end_all()

    def _looked(self, producer: Producer) -> Verdict:
        """Looks at all marks, and notes that this was done. Who has taken over the id meanwhile makes the note fail."""
        mark, start = self._mark, self._newest_start()
        verdicts = [
            judge(start, each.found, each.write.mark, self._policy, each.write.partition)
            for each in self._left
        ]
        is_known = start is not None and (start.query, start.run) == (mark.query, mark.run)
        if start is not None and is_known and start.is_complete:
            # This start has looked before, and the micro-batch has more writers than those of before.
            self._writers = max(self._writers, start.writers)
        else:
            verdicts.append(self._verdict_of_others(producer, start))
        if Verdict.LEFT_OUT in verdicts:
            return Verdict.LEFT_OUT
        self._note(producer, writers=self._writers, is_complete=True)
        return Verdict.WRITE

    def _newest_start(self) -> StartMark | None:
        group = self._write.start_id
        return StartMark.newest(self._link.run(metadata_of(self._link.admin(), [group]))[group])

    def _verdict_of_others(self, producer: Producer, start: StartMark | None) -> Verdict:
        """By the writers that the micro-batch does not have now.

        They are fenced before their marks are read: none commits after it.

        One that begins later must find that another start has taken over, so this is noted first, and read: what is
        committed can be read a moment later only.
        """
        if start is None:
            others = self._listed_others()
        else:
            others = list(range(self._writers, start.writers))
        if not others:
            return Verdict.WRITE
        self._note(producer, writers=others[-1] + 1, is_complete=False)
        self._newest_start()
        ids = {number: self._write.id_of(number) for number in others}
        found = self._link.run(_fenced_marks(self._link, ids))
        return judge_others(found, self._mark, self._writers, self._policy)

    def _listed_others(self) -> list[int]:
        """Where no start is known: marks were written by a release that left none, or brokers have forgotten it."""
        prefix = self._write.id_of(0)[:-1]
        listed = self._link.run(self._link.admin().list_groups())
        numbers = [
            int(end)
            for group in listed
            if group.group_id.startswith(prefix)
            and (end := group.group_id[len(prefix) :]).isdecimal()
        ]
        return sorted(number for number in numbers if number >= self._writers)

    def _note(self, producer: Producer, *, writers: int, is_complete: bool) -> None:
        """Where nothing was written there is no place for a mark, and the next micro-batch looks again."""
        if self._place is None:
            return
        before, mark = self._newest_start(), self._mark
        note = StartMark(
            query=mark.query,
            batch=mark.batch,
            run=mark.run,
            write=mark.write,
            writers=writers,
            number=0 if before is None else before.number + 1,
            is_complete=is_complete,
        )
        self._link.run(_write_note(producer, self._write.start_id, self._place, note))

    def _end_all(self) -> None:
        # Who dies between two of them leaves some committed and others open, whose time runs out. The next start finds
        # the marks of the first ones, and writes the same rows for the others alone.
        open_ones = [each for each in self._left if each.shared is not None]
        for first in range(0, len(open_ones), TRANSACTIONAL_MAX):
            some = open_ones[first : first + TRANSACTIONAL_MAX]
            producers = [
                self._link.transactional_producer(each.write.transactional_id) for each in some
            ]
            try:
                with causes_raised():
                    self._link.run(_end_all(producers, some))
            except _LOST as error:
                raise TransactionLost(
                    f"micro-batch {self._mark.batch} of query {self._mark.query} is not written whole: {error} Either another start of the "
                    "query has taken over, or it took longer than kafka.transaction.timeout.ms. The first micro-batch of a start is "
                    "committed at its end, and must end within that time: make it smaller (maxRecordsPerTrigger), or the time longer. The "
                    "next start writes what is missing"
                ) from error
            finally:
                for each in some:
                    self._link.discard_transactional_producer(each.write.transactional_id)


async def _end_all(producers: Sequence[Producer], left: Sequence[Unfinished]) -> None:
    """Waits for all of them, and raises the first error."""
    outcomes = await asyncio.gather(
        *(_end(producer, each) for producer, each in zip(producers, left, strict=True)),
        return_exceptions=True,
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def _end(producer: Producer, left: Unfinished) -> None:
    assert left.shared is not None, "those without a transaction were left out"
    await producer.take_over_transaction(left.shared)
    await producer.commit_transaction()


async def _write_note(
    producer: Producer, group: str, place: tuple[TopicPartition, int], note: StartMark
) -> None:
    await producer.begin_transaction()
    await send_mark(producer, group, place, note.encode())
    await producer.commit_transaction()


async def _fenced_marks(link: Connections, ids: Mapping[int, str]) -> dict[int, list[BatchMark]]:
    admin = link.admin()
    (await admin.fence_producers(ids.values())).raise_errors()
    metadata = await metadata_of(admin, list(ids.values()))
    return {number: marks_in(metadata[group]) for number, group in ids.items()}
