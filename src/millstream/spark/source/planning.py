"""Asks a cluster what there is to read: partitions, their ends, and the offsets at which a
query begins and a batch ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.clients.admin import ConfigResource, ConfigResourceType, OffsetSpec
from millstream.errors import ConfigError, KafkaError, MillstreamError, RetriableError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.spark.connections import Connections, connections
from millstream.spark.format_options import function_named
from millstream.spark.offsets import Offsets
from millstream.spark.source.data_loss import (
    DataLossPolicy,
    LogBounds,
    made_anew,
    position_loss,
    range_loss,
    recreation_loss,
)
from millstream.spark.source.loss_counts import LOSSES
from millstream.spark.source.offset_commits import topic_id_in
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.positions import (
    EARLIEST,
    LATEST,
    Ago,
    AtTime,
    ChosenOffset,
    Committed,
    Earliest,
    PartitionFacts,
    Position,
    PositionRules,
    chosen,
    parse_position,
)
from millstream.spark.source.subscription import AssignedPartitions, TopicPattern
from millstream.streams.runtime.errors import DataLoss

if TYPE_CHECKING:
    from millstream.clients import Admin

_DOUBTFUL_AFTER_MS: Final = 2_000
"""A topic whose offsets take longer may have been deleted."""
_ANSWERS_WITHIN_MS: Final = 1_000
"""With opaque replay a partition whose leader takes longer is not available. Each look-up waits so long for it."""
_APPEARS_WITHIN_S: Final = 3.0
"""A topic that was just created is not known to all brokers yet."""
_ASKS_AGAIN_AFTER_S: Final = 0.2
"""A topic is known to all brokers within some tenths of a second."""

_POLICY: Final = "cleanup.policy"
_START_FUNCTION: Final = "startingOffsetsFunction"
_LOGGER = logging.getLogger(__name__)
_Result = TypeVar("_Result")


def link_of(options: SourceOptions) -> Connections:
    return connections(options.kafka, options.discovery_interval_ms)


def topic_ids(options: SourceOptions, *, anew: bool = False) -> dict[str, Uuid]:
    """Ids of the topics of the query that are there, as they were within the discovery interval."""
    wanted = options.subscription
    names = None if isinstance(wanted, TopicPattern) else wanted.names_among(())
    ids = link_of(options).topic_ids(names, anew=anew)
    return {name: ids[name] for name in wanted.names_among(ids) if name in ids}


def look_up(options: SourceOptions, timestamp: Offset) -> dict[TopicPartition, Offset]:
    """The offset of EARLIEST or LATEST for every partition that the query reads, and that is there.

    With opaque replay: and that answers.
    """
    found = answers(options, timestamp)
    return {partition: offset for partition, offset in found.items() if offset is not None}


def answers(options: SourceOptions, timestamp: Offset) -> dict[TopicPartition, Offset | None]:
    """The same for every partition that is there: None, with opaque replay alone, for one that does not answer."""
    wanted, ask = options.subscription, _answers_in_time if options.is_opaque else _answers
    found = {
        TopicPartition(topic, partition): None if offset is None else Offset(offset)
        for topic, offsets in ask(options, list(topic_ids(options)), timestamp).items()
        for partition, offset in offsets.items()
    }
    if not isinstance(wanted, AssignedPartitions):
        return found
    return {partition: found[partition] for partition in wanted.partitions if partition in found}


def _answers(
    options: SourceOptions, topics: Iterable[str], timestamp: Offset
) -> dict[str, Mapping[int, int]]:
    """By topic. One is empty where it was deleted since topics were listed."""
    link, found = link_of(options), dict[str, Mapping[int, int]]()
    reader = link.reader()
    for topic in topics:
        try:
            found[topic] = link.run(reader.offsets(topic, timestamp, timeout_ms=_DOUBTFUL_AFTER_MS))
        except RetriableError:
            if topic in topic_ids(options, anew=True):
                found[topic] = link.run(reader.offsets(topic, timestamp))
    return found


def _answers_in_time(
    options: SourceOptions, topics: Sequence[str], timestamp: Offset
) -> dict[str, Mapping[int, int | None]]:
    """The same, all topics at once, with None for a partition whose leader does not answer in time."""
    link, found = link_of(options), dict[str, Mapping[int, int | None]]()
    reader = link.reader()
    asked = [reader.offset_results(topic, timestamp, _ANSWERS_WITHIN_MS) for topic in topics]
    for topic, outcome in zip(topics, link.run(_all(asked)), strict=True):
        if isinstance(outcome, RetriableError):  # nothing is known of the topic
            if topic not in topic_ids(options, anew=True):
                continue
            results = link.run(reader.offset_results(topic, timestamp))
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            results = outcome
        found[topic] = {partition: _offset_or_none(each) for partition, each in results.items()}
    return found


def _offset_or_none(result: int | KafkaError) -> int | None:
    """None where the leader did not answer. Raises the error of a partition that no leader would give."""
    if not isinstance(result, KafkaError):
        return result
    if not result.retriable:
        raise result
    return None


async def _all(
    asked: Iterable[Awaitable[_Result]],
) -> list[_Result | BaseException]:
    return await asyncio.gather(*asked, return_exceptions=True)


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
        gone = sorted(wanted.partitions - answers(options, EARLIEST).keys())
        if gone:
            topic, number = gone[0]
            raise ConfigError(f"assign names partition {number} of {topic}, which is not there")


def starting_choices(options: SourceOptions, now_ms: int) -> dict[TopicPartition, ChosenOffset]:
    """The offsets at which a new query begins, each with its reason, which is logged."""
    require_topics(options)
    rules = _starting_rules(options)
    choices = _chosen_among(options, rules, None, now_ms)
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


def late_choices(
    options: SourceOptions, partitions: Collection[TopicPartition], now_ms: int
) -> dict[TopicPartition, ChosenOffset]:
    """The same, of partitions that were not available when the query began: of those that are now."""
    return _chosen_among(options, _starting_rules(options), partitions, now_ms)


def _starting_rules(options: SourceOptions) -> PositionRules:
    if options.starting_function is None:
        return options.starting_offsets
    return positions_by_function(options.starting_function, look_up(options, EARLIEST))


def _chosen_among(
    options: SourceOptions,
    rules: PositionRules,
    partitions: Collection[TopicPartition] | None,
    now_ms: int,
) -> dict[TopicPartition, ChosenOffset]:
    choices = _resolved(options, rules, now_ms, partitions)
    for partition, choice in sorted(choices.items()):
        _LOGGER.info("%s begins at offset %d: %s", partition, choice.offset, choice.reason)
    return choices


def batch_range(options: SourceOptions, now_ms: int) -> tuple[Offsets, Offsets]:
    """The offsets from which and before which a batch reads.

    Raises ConfigError for an end before its start, if the policy of data loss is to fail.

    Where it is not, nothing is read there: what is asked for has no records, and no others take their place.
    """
    choices, ends = starting_choices(options, now_ms), ending_offsets(options, now_ms)
    starts = {partition: choice.offset for partition, choice in choices.items()}
    for partition, (offset, reason) in sorted(choices.items()):
        end = ends.get(partition, offset)
        if offset <= end:
            continue
        what = f"the batch begins at offset {offset} of {partition} ({reason}) and ends before it, at {end}"
        if options.data_loss is DataLossPolicy.FAIL:
            raise ConfigError(
                f"{what}: give an end that is not before the start, or set failOnDataLoss=false to read nothing there"
            )
        _LOGGER.warning("%s: nothing is read there", what)
        starts[partition] = end
    return readable_starts(options, starts, ends), ends


def ending_offsets(options: SourceOptions, now_ms: int) -> dict[TopicPartition, Offset]:
    """The offsets at which a batch ends, none of them behind the end of its log."""
    ends = look_up(options, LATEST)
    if options.ending_offsets is None:
        return ends
    choices = _resolved(options, options.ending_offsets, now_ms)
    for partition, (offset, _) in sorted(choices.items()):
        if offset > ends.get(partition, offset):
            _LOGGER.warning(
                "the batch is to end at offset %d of %s and ends at %d, where its log does",
                offset,
                partition,
                ends[partition],
            )
    return {
        partition: Offset(min(end, choices[partition].offset)) if partition in choices else end
        for partition, end in ends.items()
    }


def _resolved(
    options: SourceOptions,
    positions: PositionRules,
    now_ms: int,
    among: Collection[TopicPartition] | None = None,
) -> dict[TopicPartition, ChosenOffset]:
    """`among` None: of all partitions."""
    starts = look_up(options, EARLIEST)
    wanted = {
        partition: positions.of(partition)
        for partition in starts
        if among is None or partition in among
    }
    # Before the ends: what stands beside commits may say that a leader is too old to be asked for them.
    committed = _committed(options, wanted)
    ends = look_up(options, LATEST)
    wanted = {partition: position for partition, position in wanted.items() if partition in ends}
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
    committed = {tp: found.result(tp) for tp in found}
    # Brokers forget offsets with their topic, but a query that had read the former one may have committed once more.
    ids = current_ids(options, {tp.topic for tp in committed})
    others = {
        tp
        for tp, each in committed.items()
        if (id_ := topic_id_in(each.metadata)) is not None
        and tp.topic in ids
        and str(ids[tp.topic]) != id_
    }
    for tp in sorted(others):
        _LOGGER.warning(
            "what group %s has committed for %s counts as nothing: topic %s was deleted and created anew since",
            group_id,
            tp,
            tp.topic,
        )
    link.learn_leader_epochs(
        {
            (ids[tp.topic], tp): each.leader_epoch
            for tp, each in committed.items()
            if tp.topic in ids and topic_id_in(each.metadata) == str(ids[tp.topic])
        }
    )
    return {tp: Offset(each.offset) for tp, each in committed.items() if tp not in others}


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
    """The next offsets to read of the partitions that have an end.

    One that is not in its log is where the policy of data loss says.
    """
    found = {tp: offset for tp, offset in positions.items() if tp in ends}
    if all(ends[tp] == offset for tp, offset in found.items()):
        return found
    written = _written_ends(options, {tp for tp, offset in found.items() if offset > ends[tp]})
    for partition, first in look_up(options, EARLIEST).items():
        position = found.get(partition)
        if position is None or ends[partition] < position <= written.get(
            partition, ends[partition]
        ):
            continue
        log = LogBounds(first, Offset(max(first, ends[partition])))
        loss = position_loss(partition, position, log, options.data_loss)
        if loss is not None:
            LOSSES.add(loss, options.data_loss)
            found[partition] = loss.next_offset
    return found


def _written_ends(options: SourceOptions, partitions: Collection[TopicPartition]) -> Offsets:
    """The ends of logs behind what is committed, for readers that read only that.

    A query that has read everything before is behind an open transaction: nothing was cut there, and it reads on once
    the transaction has ended.
    """
    if not partitions or not options.kafka.is_read_committed:
        return {}
    link = link_of(options)
    wanted = dict.fromkeys(partitions, OffsetSpec.LATEST)
    found = link.run(link.admin().list_offsets(wanted)).raise_errors()
    return {tp: Offset(found.result(tp).offset) for tp in partitions}


def bounds_of(options: SourceOptions) -> dict[TopicPartition, LogBounds]:
    firsts, ends = look_up(options, EARLIEST), look_up(options, LATEST)
    return {tp: LogBounds(first, ends[tp]) for tp, first in firsts.items() if tp in ends}


def current_ids(options: SourceOptions, former: Collection[str]) -> dict[str, Uuid]:
    """Ids of the topics of these names that are there, as they are now.

    Offsets that were asked for before this call are of the former topic where it has not changed.
    """
    names = tuple(sorted(topic_ids(options).keys() & set(former)))
    return dict(link_of(options).topic_ids(names, anew=True)) if names else {}


def positions_in_new_topics(
    options: SourceOptions, former: Mapping[str, str], ids: Mapping[str, Uuid]
) -> dict[TopicPartition, Offset]:
    """The next offsets in topics that have another of these `ids` than `former` says, as the policy of data
    loss has it; empty where none has.
    """
    anew = made_anew(former, ids)
    if not anew:
        return {}
    topic_ids(options, anew=True)
    found: dict[TopicPartition, Offset] = {}
    for partition, log in sorted(bounds_of(options).items()):
        topic = partition.topic
        if topic in anew:
            policy = options.data_loss
            loss = recreation_loss(partition, former[topic], str(ids[topic]), log, policy)
            LOSSES.add(loss, policy)
            found[partition] = loss.next_offset
    return found


def readable_starts(
    options: SourceOptions, starts: Offsets, ends: Offsets
) -> dict[TopicPartition, Offset]:
    """The starts of ranges whose ends are decided, behind what is no longer in the log."""
    found, logs = dict(starts), bounds_of(options)
    beyond = {tp for tp, log in logs.items() if tp in starts and ends.get(tp, log.end) > log.end}
    # Of a micro-batch that was planned with read_uncommitted, behind an open transaction: its end is waited for.
    written = _written_ends(options, beyond)
    for partition, (first, committed_end) in logs.items():
        start, end = starts.get(partition), ends.get(partition)
        if start is None or end is None:
            continue
        log = LogBounds(first, written.get(partition, committed_end))
        loss = range_loss(partition, start, end, log, options.data_loss)
        if loss is not None:
            LOSSES.add(loss, options.data_loss)
            found[partition] = loss.next_offset
    return found


def warn_of_compaction(link: Connections, topics: Collection[str]) -> None:
    """Logs one line that names the compacted topics. Not being allowed to ask for settings of topics is no error."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in sorted(topics)]
    try:
        found = link.run(link.admin().describe_configs(resources, names=[_POLICY]))
        policies = {each.name: found.result(each)[_POLICY].value or "" for each in resources}
    except MillstreamError as error:
        _LOGGER.debug("whether topics are compacted is not known: %s", error)
        return
    compacted = [name for name, policy in policies.items() if "compact" in policy]
    if compacted:
        _LOGGER.warning(
            "%s: compacted (cleanup.policy). A micro-batch that is run again lacks what compaction has removed meanwhile; an "
            "exactly-once sink says so with BatchChanged",
            ", ".join(compacted),
        )


def positions_by_function(name: str, partitions: Iterable[TopicPartition]) -> PositionRules:
    """Calls the function of the user `name`, as `module:function`, with the list of partitions.

    Raises ConfigError where it fails or leaves one out.

    It returns for each partition an offset, or a position as `startingOffsets` takes it.
    """
    asked = sorted(partitions)
    function = function_named(_START_FUNCTION, name)
    try:
        found: object = function(list(asked))
    except Exception as error:
        raise ConfigError(
            f"{_START_FUNCTION} {name} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"{_START_FUNCTION} {name} must return a mapping from TopicPartition to an offset or a position, not {found!r}"
        )
    positions: dict[TopicPartition, Position] = {}
    for partition in asked:
        if partition not in found:
            raise ConfigError(f"{_START_FUNCTION} {name} returned no offset for {partition}")
        positions[partition] = parse_position(_START_FUNCTION, found[partition])
    others = sorted(str(each) for each in found.keys() - set(asked))
    if others:
        raise ConfigError(
            f"{_START_FUNCTION} {name} returned an offset for {others[0]}, which the query does not read"
        )
    return PositionRules(Earliest(), {}, positions)
