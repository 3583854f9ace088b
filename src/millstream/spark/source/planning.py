"""Asks a cluster what there is to read: partitions, their ends, and the offsets at which a query begins and a batch ends."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from millstream.clients import Admin
from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.connections import Connections, connections
from millstream.spark.offsets import Offsets
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
from millstream.spark.source.subscription import AssignedPartitions, TopicPattern
from millstream.streams.runtime.errors import DataLoss

_LOGGER = logging.getLogger(__name__)


def link_of(options: SourceOptions) -> Connections:
    return connections(options.kafka, options.discovery_interval_ms)


def look_up(options: SourceOptions, timestamp: Offset) -> dict[TopicPartition, Offset]:
    """The offset of EARLIEST or LATEST for every partition that the query reads. Raises ConfigError for a partition that is not there."""
    link, wanted = link_of(options), options.subscription
    existing = link.topic_names() if isinstance(wanted, TopicPattern) else ()
    found = {
        TopicPartition(topic, partition): Offset(offset)
        for topic in wanted.names_among(existing)
        for partition, offset in link.run(link.reader().offsets(topic, timestamp)).items()
    }
    if not isinstance(wanted, AssignedPartitions):
        return found
    missing = sorted(wanted.partitions - found.keys())
    if missing:
        topic, number = missing[0]
        raise ConfigError(f"assign names partition {number} of {topic}, which is not there")
    return {partition: found[partition] for partition in wanted.partitions}


def starting_offsets(options: SourceOptions, now_ms: int) -> dict[TopicPartition, Offset]:
    """The offsets at which a new query begins."""
    return {tp: choice.offset for tp, choice in starting_choices(options, now_ms).items()}


def starting_choices(options: SourceOptions, now_ms: int) -> dict[TopicPartition, ChosenOffset]:
    """The same, each with its reason, which is logged."""
    choices = _resolved(options, options.starting_offsets, now_ms)
    for partition, choice in sorted(choices.items()):
        _LOGGER.info("%s begins at offset %d: %s", partition, choice.offset, choice.reason)
    named = options.starting_offsets.partitions.keys() | options.starting_offsets.topics.keys()
    topics = {partition.topic for partition in choices}
    ignored = sorted(str(each) for each in named if each not in choices and each not in topics)
    if ignored:
        _LOGGER.warning(
            "startingOffsets names what the query does not read: %s", ", ".join(ignored)
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
        except DataLoss as error:
            if options.fail_on_data_loss:
                raise
            _LOGGER.warning("%s; going on at the start of the log", error)
            choices[partition] = ChosenOffset(facts.start, "earliest: what was committed is gone")
    return choices


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
