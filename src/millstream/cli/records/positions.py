"""Finds the partitions and offsets at which a consumer without a group begins and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from millstream.cli.near_names import with_near_topics
from millstream.cli.records.offset_choice import Bounds, Lookups, Start, offsets_at, start_offsets
from millstream.cli.terminal import printable
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin, Consumer


def partitions_of(
    admin: Admin, names: Iterable[str], pattern: str | None, wanted: set[int] | None
) -> list[TopicPartition]:
    """Returns the partitions of the topics named, or of those whose whole name matches.

    Raises UnknownTopicOrPartition.
    """
    names = list(names)
    if pattern is not None:
        names = [name for name in admin.list_topics() if re.fullmatch(pattern, name)]
    topics = with_near_topics(admin, admin.describe_topics(names)).raise_errors()
    partitions = [
        TopicPartition(topic, described.partition)
        for topic in names
        for described in topics.result(topic).partitions
        if wanted is None or described.partition in wanted
    ]
    if not partitions:
        raise click.UsageError(_why_none(names, pattern, wanted))
    return partitions


def _why_none(names: Iterable[str], pattern: str | None, wanted: set[int] | None) -> str:
    if pattern is not None and not list(names):
        return f"no topic matches {pattern}"
    numbers = ", ".join(map(str, sorted(wanted or ())))
    return f"{', '.join(names)}: there is no partition {numbers}"


def partition_numbers(items: Iterable[str]) -> set[int] | None:
    """Returns the partitions of `-p 0,2 -p 5`; None where nothing was said."""
    numbers = [number.strip() for item in items for number in item.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise click.BadParameter(
            f"{','.join(numbers)!r} names no partitions, as 0,2 does; a profile is named by --profile here",
            param_hint="-p",
        )
    return set(map(int, numbers)) or None


def seek(
    consumer: Consumer, partitions: list[TopicPartition], bounds: Bounds, *, until_end: bool
) -> dict[TopicPartition, int] | None:
    """Assigns the partitions and moves to their starts. Gives the offset to end before in each, if there is an end.

    Nothing is fetched before all of that is known, nor from a partition of which nothing is to be read: brokers hold a
    fetch of those alone back for fetch.max.wait.ms, and the records of the others would come behind it.
    """
    consumer.assign(partitions)
    consumer.pause(partitions)
    ask = lookups(consumer)
    start = bounds.start or Start("end")
    starts = start_offsets(start, partitions, ask)
    for partition, offset in starts.items():
        consumer.seek(partition, offset)
        if start.kind == "offset":
            _tell_of_absence(partition, offset, ask)
    stops = _stops(partitions, bounds, ask, until_end=until_end)
    consumer.resume(
        each
        for each in partitions
        if stops is None or each not in starts or starts[each] < stops[each]
    )
    return stops


def _stops(
    partitions: list[TopicPartition], bounds: Bounds, ask: Lookups, *, until_end: bool
) -> dict[TopicPartition, int] | None:
    if bounds.stop_ms is not None:
        return dict(offsets_at(bounds.stop_ms, partitions, ask))
    if bounds.stop_offset is not None:
        ends: Mapping[TopicPartition, int] = ask.end(partitions) if until_end else {}
        return {
            each: min(bounds.stop_offset, ends.get(each, bounds.stop_offset)) for each in partitions
        }
    return dict(ask.end(partitions)) if until_end else None


def lookups(consumer: Consumer) -> Lookups:
    return Lookups(
        consumer.beginning_offsets,
        consumer.end_offsets,
        lambda asked, time_ms: {
            tp: None if found is None else found.offset
            for tp, found in consumer.offsets_for_times(dict.fromkeys(asked, time_ms)).items()
        },
    )


def _tell_of_absence(partition: TopicPartition, offset: int, ask: Lookups) -> None:
    """Says that nothing is read at an offset that was asked for: the consumer would go elsewhere in silence."""
    first, end = ask.beginning([partition])[partition], ask.end([partition])[partition]
    if first <= offset <= end:
        return
    there = f"it has {first} to {end}" if first < end else f"it is empty, and ends at {end}"
    click.echo(f"warning: {printable(str(partition))} has no offset {offset}: {there}", err=True)
