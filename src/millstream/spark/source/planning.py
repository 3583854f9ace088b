"""Asks a cluster what there is to read: partitions, their ends, and the offsets at which a query begins and a batch ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from millstream.clients import Admin
from millstream.errors import ConfigError, RetriableError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.connections import Connections, connections
from millstream.spark.offsets import Offsets
from millstream.spark.source.data_loss import (
    DataLossPolicy,
    LogBounds,
    position_loss,
    range_loss,
    recreation_loss,
)
from millstream.spark.source.loss_counts import LOSSES
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.positions import (
    EARLIEST,
    LATEST,
    Ago,
    AtTime,
    ChosenOffset,
    Committed,
    PartitionFacts,
    Position,
    PositionRules,
    chosen,
)
from millstream.spark.source.start_function import positions_by_function
from millstream.spark.source.subscription import AssignedPartitions, TopicPattern
from millstream.streams.runtime.errors import DataLoss

_DOUBTFUL_AFTER_MS: Final = 2_000
"""A topic whose offsets take longer may have been deleted."""
_APPEARS_WITHIN_S: Final = 3.0
"""A topic that was just created is not known to all brokers yet."""
_ASKS_AGAIN_AFTER_S: Final = 0.2

_LOGGER = logging.getLogger(__name__)


def link_of(options: SourceOptions) -> Connections:
    return connections(options.kafka, options.discovery_interval_ms)


def topic_ids(options: SourceOptions, *, anew: bool = False) -> dict[str, Uuid]:
    """Ids of the topics of the query that are there, as they were within the discovery interval."""
    wanted = options.subscription
    names = None if isinstance(wanted, TopicPattern) else wanted.names_among(())
    ids = link_of(options).topic_ids(names, anew=anew)
    return {name: ids[name] for name in wanted.names_among(ids) if name in ids}


def look_up(options: SourceOptions, timestamp: Offset) -> dict[TopicPartition, Offset]:
    """The offset of EARLIEST or LATEST for every partition that the query reads, and that is there."""
    wanted = options.subscription
    found = {
        TopicPartition(topic, partition): offset
        for topic in topic_ids(options)
        for partition, offset in _offsets(options, topic, timestamp).items()
    }
    if not isinstance(wanted, AssignedPartitions):
        return found
    return {partition: found[partition] for partition in wanted.partitions if partition in found}


def _offsets(options: SourceOptions, topic: str, timestamp: Offset) -> dict[int, Offset]:
    """Empty where the topic was deleted since topics were listed."""
    link = link_of(options)
    reader = link.reader()
    try:
        found = link.run(reader.offsets(topic, timestamp, timeout_ms=_DOUBTFUL_AFTER_MS))
    except RetriableError:
        if topic not in topic_ids(options, anew=True):
            return {}
        found = link.run(reader.offsets(topic, timestamp))
    return {partition: Offset(offset) for partition, offset in found.items()}


def require_topics(options: SourceOptions) -> None:
    """Raises ConfigError for a topic or a partition that is not there, a few seconds after it was first missed."""
    wanted = options.subscription
    if isinstance(wanted, TopicPattern):
        return
    link = link_of(options)
    until_s = link.runner.get_loop().time() + _APPEARS_WITHIN_S
    while missing := set(wanted.names_among(())) - topic_ids(options).keys():
        if link.runner.get_loop().time() >= until_s:
            raise ConfigError(f"topic {min(missing)} is not there, or its user may not describe it")
        link.run(asyncio.sleep(_ASKS_AGAIN_AFTER_S))
        topic_ids(options, anew=True)
    if isinstance(wanted, AssignedPartitions):
        gone = sorted(wanted.partitions - look_up(options, EARLIEST).keys())
        if gone:
            topic, number = gone[0]
            raise ConfigError(f"assign names partition {number} of {topic}, which is not there")


def starting_offsets(options: SourceOptions, now_ms: int) -> dict[TopicPartition, Offset]:
    """The offsets at which a new query begins."""
    return {tp: choice.offset for tp, choice in starting_choices(options, now_ms).items()}


def starting_choices(options: SourceOptions, now_ms: int) -> dict[TopicPartition, ChosenOffset]:
    """The same, each with its reason, which is logged."""
    require_topics(options)
    rules = options.starting_offsets
    if options.starting_function is not None:
        rules = positions_by_function(options.starting_function, look_up(options, EARLIEST))
    choices = _resolved(options, rules, now_ms)
    for partition, choice in sorted(choices.items()):
        _LOGGER.info("%s begins at offset %d: %s", partition, choice.offset, choice.reason)
    named = rules.partitions.keys() | rules.topics.keys()
    topics = {partition.topic for partition in choices}
    ignored = sorted(str(each) for each in named if each not in choices and each not in topics)
    if ignored:
        _LOGGER.warning(
            "startingOffsets names what the query does not read: %s", ", ".join(ignored)
        )
    unnamed = [tp for tp in choices if tp not in rules.partitions and tp.topic not in rules.topics]
    if named and unnamed:
        _LOGGER.warning(
            "startingOffsets does not name all that the query reads: %s",
            ", ".join(map(str, sorted(unnamed))),
        )
    return choices


def ending_offsets(options: SourceOptions, now_ms: int) -> dict[TopicPartition, Offset]:
    """The offsets at which a batch ends, none of them behind the end of its log."""
    ends = look_up(options, LATEST)
    if options.ending_offsets is None:
        return ends
    choices = _resolved(options, options.ending_offsets, now_ms)
    return {
        partition: Offset(min(end, choices[partition].offset)) if partition in choices else end
        for partition, end in ends.items()
    }


def _resolved(
    options: SourceOptions, positions: PositionRules, now_ms: int
) -> dict[TopicPartition, ChosenOffset]:
    starts, ends = look_up(options, EARLIEST), look_up(options, LATEST)
    wanted = {partition: positions.of(partition) for partition in starts if partition in ends}
    committed = _committed(options, wanted)
    at_times = _at_times(options, wanted, now_ms)
    choices: dict[TopicPartition, ChosenOffset] = {}
    for partition, position in wanted.items():
        facts = PartitionFacts(
            starts[partition],
            ends[partition],
            committed.get(partition),
            at_times.get(partition),
        )
        try:
            choices[partition] = chosen(partition, position, facts)
        except DataLoss:
            if options.data_loss is DataLossPolicy.FAIL:
                raise
            choices[partition] = _behind_a_loss(options, partition, facts)
    return choices


def _behind_a_loss(
    options: SourceOptions, partition: TopicPartition, facts: PartitionFacts
) -> ChosenOffset:
    assert facts.committed is not None, "only a commit can be lost before a query begins"
    log = LogBounds(facts.start, facts.end)
    loss = position_loss(partition, facts.committed, log, options.data_loss)
    assert loss is not None, "the commit is not in the log"
    LOSSES.add(loss, options.data_loss)
    return ChosenOffset(loss.next_offset, f"{options.data_loss.value}: what was committed is gone")


def _committed(options: SourceOptions, wanted: Mapping[TopicPartition, Position]) -> Offsets:
    partitions = [tp for tp, position in wanted.items() if isinstance(position, Committed)]
    if not partitions or options.group_id is None:
        return {}
    link, group_id = link_of(options), options.group_id
    listing = link.admin().list_consumer_group_offsets({group_id: partitions}, require_stable=True)
    found = link.run(listing).result(group_id)
    return {tp: Offset(found.result(tp).offset) for tp in found}


def _at_times(
    options: SourceOptions, wanted: Mapping[TopicPartition, Position], now_ms: int
) -> Offsets:
    times = {
        partition: at
        for partition, position in wanted.items()
        if (at := _time_of(position, now_ms)) is not None
    }
    if not times:
        return {}
    link = link_of(options)
    return link.run(_first_at(link.admin(), times, is_committed=options.kafka.is_read_committed))


def _time_of(position: Position, now_ms: int) -> int | None:
    match position:
        case AtTime(timestamp_ms, _):
            return timestamp_ms
        case Ago(duration_ms):
            return now_ms - duration_ms
        case _:
            return None


async def _first_at(
    admin: Admin, times: Mapping[TopicPartition, int], *, is_committed: bool
) -> dict[TopicPartition, Offset]:
    found = await admin.list_offsets(times, read_committed=is_committed)
    offsets = {tp: found.result(tp).offset for tp in times}
    return {tp: Offset(offset) for tp, offset in offsets.items() if offset >= 0}


def readable_positions(
    options: SourceOptions, positions: Offsets, ends: Offsets
) -> dict[TopicPartition, Offset]:
    """The next offsets to read of the partitions that have an end. One that is not in its log is where the policy of data loss says."""
    found = {tp: offset for tp, offset in positions.items() if tp in ends}
    if all(ends[tp] == offset for tp, offset in found.items()):
        return found
    for partition, first in look_up(options, EARLIEST).items():
        if (position := found.get(partition)) is None:
            continue
        log = LogBounds(first, Offset(max(first, ends[partition])))
        loss = position_loss(partition, position, log, options.data_loss)
        if loss is not None:
            LOSSES.add(loss, options.data_loss)
            found[partition] = loss.next_offset
    return found


def bounds_of(options: SourceOptions) -> dict[TopicPartition, LogBounds]:
    firsts, ends = look_up(options, EARLIEST), look_up(options, LATEST)
    return {tp: LogBounds(first, ends[tp]) for tp, first in firsts.items() if tp in ends}


def positions_in_new_topics(
    options: SourceOptions, former: Mapping[str, str]
) -> dict[TopicPartition, Offset]:
    """The next offsets in topics that have another id than `former` says, as the policy of data loss has it; empty where none has.

    Offsets that were asked for before this call are of the former topic where it has not changed.
    """
    names = tuple(sorted(former.keys() & topic_ids(options).keys()))
    ids = link_of(options).topic_ids(names, anew=True) if names else {}
    anew = {name: str(ids[name]) for name in ids if str(ids[name]) != former[name]}
    if not anew:
        return {}
    topic_ids(options, anew=True)
    found: dict[TopicPartition, Offset] = {}
    for partition, log in sorted(bounds_of(options).items()):
        topic = partition.topic
        if topic in anew:
            policy = options.data_loss
            loss = recreation_loss(partition, former[topic], anew[topic], log, policy)
            LOSSES.add(loss, policy)
            found[partition] = loss.next_offset
    return found


def readable_starts(
    options: SourceOptions, starts: Offsets, ends: Offsets
) -> dict[TopicPartition, Offset]:
    """The starts of ranges whose ends are decided, behind what is no longer in the log."""
    found = dict(starts)
    for partition, log in bounds_of(options).items():
        start, end = starts.get(partition), ends.get(partition)
        if start is None or end is None:
            continue
        loss = range_loss(partition, start, end, log, options.data_loss)
        if loss is not None:
            LOSSES.add(loss, options.data_loss)
            found[partition] = loss.next_offset
    return found
