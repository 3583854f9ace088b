"""`millstream records delete`: removes the beginning of partitions (as kafka-delete-records does)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeGuard

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.completion.names import topic_names
from millstream.cli.rows import Row, confirm, finish, note, output_option, print_rows, yes_option
from millstream.errors import KafkaError, OffsetOutOfRange
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients.admin import Results
    from millstream.clients.blocking import Admin
    from millstream.clients.core.values import OffsetAndTimestamp
    from millstream.model import TopicPartition

    ListOffsets = Callable[
        [Mapping[TopicPartition, int]], Results[TopicPartition, OffsetAndTimestamp]
    ]

_COLUMNS: Final = ("topic", "partition", "earliest", "new_earliest", "offsets", "result")
_LATEST: Final = -1
_EARLIEST: Final = -2


@click.group(cls=ClientGroup)
def records() -> None:
    """Delete records of topics. Records are read by `millstream consume` and written by `millstream produce`."""


@records.command()
@cluster_options
@output_option
@yes_option
@click.argument("items", nargs=-1, metavar="[TOPIC[:P,P]]...", shell_complete=topic_names)
@click.option(
    "--topic", "-t", "more", multiple=True, help="Same as the argument.", shell_complete=topic_names
)
@click.option(
    "--before",
    metavar="POSITION",
    help="Delete what lies before this offset, before a time (@2026-01-31T12:00:00, @MILLISECONDS), or all (end).",
)
@click.option(
    "--offset-json-file",
    "file",
    metavar="FILE",
    help="Partitions and offsets in a file as for kafka-delete-records.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go, and delete nothing.")
def delete(
    items: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    yes: bool,
    more: tuple[str, ...],
    before: str | None,
    file: str | None,
    dry_run: bool,
) -> None:
    """Delete the records at the beginning of partitions. What is deleted cannot be had back."""
    named = (*items, *more)
    if (before is None) == (file is None) or bool(named) == (file is not None):
        raise click.UsageError("give TOPIC and --before POSITION, or --offset-json-file FILE")
    given = None if before is None else parse_position(before)
    with cluster.admin() as admin:
        planned = _planned(admin, named, given) if given is not None else _from_file(admin, file or "")  # fmt: skip
        going = {key: each for key, each in planned.plans.items() if each.count}
        if going and not dry_run:
            confirm(f"Delete {counted(sum(each.count for each in going.values()), 'offset')} of {counted(len(going), 'partition')}", yes=yes)  # fmt: skip
            answered = admin.delete_records({key: each.end for key, each in going.items()})
            planned.errors.update(answered.errors())
    print_rows(plan_rows(planned, dry_run=dry_run), output, _COLUMNS)
    if not going and not planned.errors:
        note("nothing lies before that", output)
    finish(planned.errors, output)


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """Says what is to go of one partition: what lies from `begin` to before `end`."""

    begin: int
    end: int

    @property
    def count(self) -> int:
        return max(0, self.end - self.begin)


@dataclass(frozen=True, slots=True)
class RecordDeletion:
    plans: dict[TopicPartition, DeletionPlan]
    errors: dict[TopicPartition, KafkaError]


@dataclass(frozen=True, slots=True)
class Position:
    """An offset; a time in ms; or the end, where neither is given."""

    offset: int | None = None
    time_ms: int | None = None


def parse_position(text: str) -> Position:
    """Raises BadParameter."""
    from millstream.cli.records.offset_choice import timestamp_ms

    if text in {"end", "latest", "-1"}:
        return Position()
    if text.startswith("@"):
        return Position(time_ms=timestamp_ms(text[1:]))
    if re.fullmatch(r"[0-9]{1,19}", text):
        return Position(offset=int(text))
    raise click.BadParameter(
        f"{text!r} is not an offset, a time (@2026-01-31T12:00:00) or end", param_hint="--before"
    )


def parse_offset_file(text: str) -> dict[TopicPartition, int]:
    """Returns what a file for kafka-delete-records names; -1 stands for the end. Raises ConfigError."""
    from millstream.errors import ConfigError

    try:
        found = json.loads(text)
        if found.get("version", 1) != 1:
            raise ConfigError(f"version {found['version']} of the file is not known: 1 is")
        return _ends([(each["topic"], each["partition"], each["offset"]) for each in found["partitions"]])  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f'the file is not like {{"partitions": [{{"topic": "a", "partition": 0, "offset": 9}}], "version": 1}}: {error}'
        ) from error


def _ends(listed: list[tuple[object, object, object]]) -> dict[TopicPartition, int]:
    """Nothing is rounded or guessed here: what is deleted cannot be had back. Raises ValueError."""
    from millstream.model import TopicPartition

    ends: dict[TopicPartition, int] = {}
    for topic, partition, offset in listed:
        if not isinstance(topic, str) or not _is_whole(partition, 0) or not _is_whole(offset, _LATEST):  # fmt: skip
            raise ValueError(f"{offset!r} of {topic!r}, partition {partition!r}: offsets are whole numbers, and -1 is the end")  # fmt: skip
        key = TopicPartition(topic, partition)
        if key in ends:
            raise ValueError(f"{key} is named twice")
        ends[key] = offset
    return ends


def _is_whole(number: object, smallest: int) -> TypeGuard[int]:
    """True and 40.9 are none."""
    return type(number) is int and number >= smallest


def _planned(admin: Admin, named: tuple[str, ...], position: Position) -> RecordDeletion:
    from millstream.cli.records.partition_choice import chosen_partitions

    partitions = list(chosen_partitions(admin, named))
    if position.time_ms is not None:
        return plan_deletion_before(partitions, position.time_ms, admin.list_offsets)
    offset = _LATEST if position.offset is None else position.offset
    return plan_deletion(dict.fromkeys(partitions, offset), admin.list_offsets)


def _from_file(admin: Admin, file: str) -> RecordDeletion:
    from millstream.cli.arguments import given_text
    from millstream.cli.records.partition_choice import chosen_partitions

    ends = parse_offset_file(given_text(file))
    chosen_partitions(admin, [f"{key.topic}:{key.partition}" for key in ends])
    return plan_deletion(ends, admin.list_offsets)


def plan_deletion_before(
    partitions: Iterable[TopicPartition], time_ms: int, list_offsets: ListOffsets
) -> RecordDeletion:
    """Plans to delete what lies before the first record of that time; all of a partition where there is none.

    The ends are looked up before the time: a record that is produced between the two lies then beyond the end
    that counts, and stays. The other way round "no record is that new" would take the end that comes with the
    new record, and delete it.
    """
    last = list_offsets(dict.fromkeys(partitions, _LATEST))
    found = list_offsets(dict.fromkeys(last, time_ms))
    ends: dict[TopicPartition, int] = {}
    for key, each in found.items():
        end = last[key]
        if not isinstance(each, KafkaError) and not isinstance(end, KafkaError):
            ends[key] = end.offset if each.offset < 0 else each.offset
    planned = plan_deletion(ends, list_offsets)
    planned.errors.update(last.errors() | found.errors())
    return planned


def plan_deletion(ends: Mapping[TopicPartition, int], list_offsets: ListOffsets) -> RecordDeletion:
    """Looks up what there is.

    An end of -1 is the high watermark; one beyond it is an error of its partition, and nothing of it goes.
    """
    first = list_offsets(dict.fromkeys(ends, _EARLIEST))
    last = list_offsets(dict.fromkeys(ends, _LATEST))
    errors: dict[TopicPartition, KafkaError] = first.errors() | last.errors()
    plans: dict[TopicPartition, DeletionPlan] = {}
    for key, wanted in ends.items():
        if key in errors:
            continue
        begin, end = first.result(key).offset, last.result(key).offset
        if wanted > end:
            errors[key] = OffsetOutOfRange(f"{key} ends at {end}: nothing can be deleted up to {wanted}")  # fmt: skip
        else:
            plans[key] = DeletionPlan(begin, end if wanted == _LATEST else max(begin, wanted))
    return RecordDeletion(plans, errors)


def plan_rows(planned: RecordDeletion, *, dry_run: bool) -> list[Row]:
    """Returns a row for each partition that did not fail."""
    done = "would be deleted" if dry_run else "deleted"
    return [
        {
            "topic": key.topic,
            "partition": key.partition,
            "earliest": plan.begin,
            "new_earliest": plan.end,
            "offsets": plan.count,
            "result": done if plan.count else "nothing to delete",
        }
        for key, plan in sorted(planned.plans.items())
        if key not in planned.errors
    ]
