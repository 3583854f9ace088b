"""Computes the offsets that a group is moved to, by the rules of kafka-consumer-groups. Connects to nothing."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Literal

import click

from millstream.model import TopicPartition

Target = Literal["earliest", "latest", "current", "offset", "shift", "time"]
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Reset:
    """`number` is an offset, a distance, or a timestamp in ms."""

    target: Target
    number: int = 0


@dataclass(frozen=True, slots=True)
class KnownOffsets:
    """The offsets that decide.

    `committed` lacks partitions without a commit; `at_time` gives the end where no record is so late.
    """

    beginning: Offsets
    end: Offsets
    committed: Offsets
    at_time: Callable[[int], Offsets]


def new_offsets(
    reset: Reset,
    partitions: Iterable[TopicPartition],
    known: KnownOffsets,
    tell: Callable[[str], object],
) -> dict[TopicPartition, int]:
    """Returns offsets that lie within the partitions. Raises ClickException where nothing can be said."""
    wanted = list(partitions)
    chosen = _chosen(reset, wanted, known)
    return within({tp: chosen[tp] for tp in wanted}, known, tell)


def within(
    chosen: Offsets, known: KnownOffsets, tell: Callable[[str], object]
) -> dict[TopicPartition, int]:
    """Moves offsets into what there is of each partition, as Kafka's tool does, and tells of each that it moves."""
    moved = {}
    for tp, offset in chosen.items():
        first, end = known.beginning[tp], known.end[tp]
        moved[tp] = min(max(offset, first), end)
        if offset > end:
            tell(
                f"{tp}: offset {offset} is behind the end of the partition; {end} is taken instead"
            )
        elif offset < first:
            tell(f"{tp}: offset {offset} is before the first record; {first} is taken instead")
    return moved


def _chosen(reset: Reset, wanted: list[TopicPartition], known: KnownOffsets) -> Offsets:
    match reset.target:
        case "earliest":
            return known.beginning
        case "latest":
            return known.end
        case "offset":
            return dict.fromkeys(wanted, reset.number)
        case "time":
            return known.at_time(reset.number)
        case "current":
            return {tp: known.committed.get(tp, known.end[tp]) for tp in wanted}
        case "shift":
            missing = [str(tp) for tp in wanted if tp not in known.committed]
            if missing:
                raise click.ClickException(
                    f"nothing to shift: no offset is committed for {', '.join(missing)}"
                )
            return {tp: known.committed[tp] + reset.number for tp in wanted}


def parse_targets(items: Iterable[str]) -> dict[str, set[int] | None]:
    """Parses `flights` or `flights:0,2`: topics, and the partitions wanted of each (None: all)."""
    wanted: dict[str, set[int] | None] = {}
    for item in items:
        topic, separator, numbers = item.partition(":")
        if not separator:
            wanted[topic] = None
            continue
        if not all(number.isdecimal() for number in numbers.split(",")):
            raise click.BadParameter(f"{item!r} is not like TOPIC:0,1", param_hint="--topic")
        chosen = wanted.setdefault(topic, set())
        if chosen is not None:
            chosen.update(map(int, numbers.split(",")))
    return wanted


def parse_plan(text: str) -> dict[TopicPartition, int]:
    """Returns a plan that was exported: topic,partition,offset in each line, perhaps behind the group."""
    plan = {}
    for row in csv.reader(StringIO(text)):
        if not row:
            continue
        try:
            topic, partition, offset = row[-3:]
            plan[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise click.ClickException(f"{','.join(row)!r} is not TOPIC,PARTITION,OFFSET") from None
    return plan


def plan_text(plan: Offsets) -> str:
    """Returns the plan as text, which `parse_plan` reads."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for tp, offset in plan.items():
        writer.writerow((tp.topic, tp.partition, offset))
    return out.getvalue()
