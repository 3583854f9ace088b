"""Judges an attempt at a micro-batch by the marks of an exactly-once sink: it is new, it is done,
or it must not be written.

Pure. A micro-batch counts as done only where a mark says that the same rows went to the
same topics of the same cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from millstream.errors import MillstreamError
from millstream.quoting import counted
from millstream.spark.sink.marks import BatchMark, StartMark

_OR_NEW: Final = "or give another transactionalIdPrefix, with which everything that this query writes from now on counts as not yet written"


class BatchChanged(MillstreamError):
    """A micro-batch that was partly written comes again with other rows or for another topic, so that it
    cannot be written exactly once.
    """


class CheckpointBehind(MillstreamError):
    """The topic has later micro-batches of the query than its checkpoint knows of."""


class BehindPolicy(Enum):
    """The treatment of micro-batches of a checkpoint that is older than what the topic has: the
    option `checkpointBehind`.
    """

    FAIL = "fail"
    LEAVE_OUT = "leave-out"
    """What was written counts, and micro-batches up to the last one of it are left out."""


class Verdict(Enum):
    WRITE = "write"
    DONE = "done"
    """The rows are in the topics."""
    LEFT_OUT = "left out"
    """Other rows of this micro-batch, or of a later one, are there, and the policy is to go on behind them."""


def is_to_write(marks: Iterable[BatchMark], now: BatchMark) -> bool:
    """Whether no mark of the writer knows of this micro-batch or a later one.

    Batch ids only grow in a query, and may jump.

    Raises BatchChanged where another write of the same run has the name.
    """
    mine = [mark for mark in marks if mark.query == now.query]
    last = max(mine, key=lambda mark: mark.batch, default=None)
    if last is None or last.batch < now.batch:
        return True
    if last.batch == now.batch and last.run == now.run and last.write != now.write:
        raise _shared_prefix(now.batch)
    return False


def is_open(start: StartMark | None, now: BatchMark, partition: int) -> bool:
    """Whether this start of the query has looked at all marks, so that a writer may commit
    what it has written by itself.

    Raises BatchChanged where another write of the same run has looked for the same micro-batch.
    """
    if start is None or (start.query, start.run) != (now.query, now.run):
        return False
    if start.is_complete and start.batch == now.batch and start.write != now.write:
        raise _shared_prefix(now.batch)
    return start.is_complete and start.batch <= now.batch and partition < start.writers


def judge(
    start: StartMark | None,
    marks: Iterable[BatchMark],
    now: BatchMark,
    policy: BehindPolicy,
    partition: int | None = None,
) -> Verdict:
    """Decides by the marks of one writer and of the start. `now` has the rows that came, and where they go.

    `partition` is a Spark partition, None for a write of a whole micro-batch. Raises CheckpointBehind and BatchChanged.
    """
    mine = [mark for mark in marks if mark.query == now.query]
    later = [mark for mark in mine if mark.batch > now.batch]
    seen = [mark.batch for mark in later]
    if start is not None and start.query == now.query and start.batch > now.batch:
        seen.append(start.batch)
    if seen:
        verdict = _behind(now, max(seen), policy)
        for mark in later:
            _require_same_place(mark, now)
        return verdict
    written = [mark for mark in mine if mark.batch == now.batch]
    if not written:
        return Verdict.WRITE
    what = _named(now.batch, partition)
    for mark in written:
        _require_same_target(what, mark, now)
    if all((mark.records, mark.digest) == (now.records, now.digest) for mark in written):
        return Verdict.DONE
    if policy is BehindPolicy.LEAVE_OUT:
        return Verdict.LEFT_OUT
    where = "" if partition is None else " in the same Spark partitions"
    raise BatchChanged(
        f"{what} was written with {counted(written[0].records, 'row')} before the restart and has {now.records} now, or other ones: an exactly-once "
        f"sink needs the same rows{where} when a micro-batch is run again. {_how_to_go_on(partition)}"
    )


def judge_others(
    marks: Mapping[int, Iterable[BatchMark]], now: BatchMark, writers: int, policy: BehindPolicy
) -> Verdict:
    """Decides by the marks of Spark partitions that the micro-batch does not have now: from `writers` on.

    Raises as `judge`.
    """
    verdict = Verdict.WRITE
    for partition, each in sorted(marks.items()):
        mine = [mark for mark in each if mark.query == now.query]
        last = max((mark.batch for mark in mine), default=-1)
        if last > now.batch:
            return _behind(now, last, policy)
        if last < now.batch:
            continue
        if policy is BehindPolicy.LEAVE_OUT:
            verdict = Verdict.LEFT_OUT
            continue
        raise BatchChanged(
            f"{_named(now.batch, partition)} was written before the restart, and the micro-batch has {writers} Spark partitions now: an "
            "exactly-once sink needs the same rows in the same Spark partitions when a micro-batch is run again. "
            f"{_how_to_go_on(partition)}"
        )
    return verdict


def _named(batch: int, partition: int | None) -> str:
    return (
        f"micro-batch {batch}"
        if partition is None
        else f"Spark partition {partition} of micro-batch {batch}"
    )


def _how_to_go_on(partition: int | None) -> str:
    settings = (
        "the query"
        if partition is None
        else "minPartitions, spark.sql.shuffle.partitions, the query"
    )
    return f"Nothing is written now. Set back what was changed ({settings}), at least until this micro-batch has passed, {_OR_NEW}"


def _behind(now: BatchMark, last: int, policy: BehindPolicy) -> Verdict:
    if policy is BehindPolicy.LEAVE_OUT:
        return Verdict.LEFT_OUT
    raise CheckpointBehind(
        f"this is micro-batch {now.batch} of query {now.query}, and micro-batch {last} of the same query was written before: the checkpoint "
        "is an older one that was put back, or a copy of one whose query went on. Nothing is written now. Either go on from what the topic "
        f"has: checkpointBehind=leave-out leaves out the micro-batches up to {last}, and whatever rows they have now; {_OR_NEW}, also rows "
        "that the topic has already"
    )


def _require_same_place(later: BatchMark, now: BatchMark) -> None:
    """Other micro-batches may have other topics of those that their rows say, but not another one
    where there is one.
    """
    if now.records == 0 or later.is_of_old_release:
        return
    are_single = " " not in later.target.topics + now.target.topics
    if later.target.cluster != now.target.cluster or (are_single and later.target != now.target):
        _require_same_target(f"micro-batch {later.batch}", later, now)


def _require_same_target(what: str, mark: BatchMark, now: BatchMark) -> None:
    if mark.is_of_old_release:
        raise BatchChanged(
            f"{what} was written by an older release of Millstream, whose marks do not say to which topic: finish this micro-batch with "
            f"that release, {_OR_NEW}"
        )
    if mark.target != now.target:
        raise BatchChanged(
            f"{what} was written to {mark.target} before, and is to be written to {now.target} now: it is another topic, or one that was made "
            f"anew, so that it is not known to be there. Nothing is written now. Set the topic back, at least until this micro-batch has "
            f"passed, {_OR_NEW}"
        )


def _shared_prefix(batch: int) -> BatchChanged:
    return BatchChanged(
        f"another write of micro-batch {batch} has used the same transactionalIdPrefix: give each write of a foreachBatch "
        "function a prefix of its own"
    )
