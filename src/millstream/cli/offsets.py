"""`millstream offsets`: where partitions begin and end, which offset a time has, and how much lies between
(as kafka-get-offsets does).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientCommand
from millstream.cli.completion.names import topic_names
from millstream.cli.rows import Row, finish, note, output_option, print_rows
from millstream.errors import KafkaError

if TYPE_CHECKING:
    from millstream.clients.admin import PartitionDescription
    from millstream.clients.blocking import Admin
    from millstream.clients.core.values import OffsetAndTimestamp
    from millstream.model import TopicPartition

_ENDS: Final = ("topic", "partition", "earliest", "latest", "offsets")
_SIZED: Final = (*_ENDS, "bytes")
_AT: Final = ("topic", "partition", "offset", "timestamp", "leader_epoch")
_SPECS: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
"""Kafka's words for its numbers: the numbers are taken too."""
_DIRECTORIES_MS: Final = 10_000
"""A broker that is down is not waited for longer: what the others hold is told."""


@click.command(cls=ClientCommand)
@cluster_options
@output_option
@click.argument("items", nargs=-1, metavar="[TOPIC[:P,P]]...", shell_complete=topic_names)
@click.option(
    "--topic", "-t", "more", multiple=True, help="Same as the argument.", shell_complete=topic_names
)
@click.option(
    "--at",
    "--time",
    "at",
    metavar="TIME",
    help="The first offset at or after a time: milliseconds since 1970, 2026-01-31T12:00:00, or how long ago, as 10m or 2h; or the offset that is "
    f"named: {', '.join(_SPECS)}.",
)
@click.option("--sizes", is_flag=True, help="Tell too how many bytes the leader's log has.")
@click.option(
    "--read-committed",
    is_flag=True,
    help="The latest offset is the last stable one: readers at read_committed see what lies before it.",
)
def offsets(
    items: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    output: str,
    more: tuple[str, ...],
    at: str | None,
    sizes: bool,
    read_committed: bool,
) -> None:
    """Show where partitions begin and end, or the offsets of a time. Without TOPIC: of all topics.

    OFFSETS is how many lie between the two: as many records, unless there are transactions or compaction took some.
    """
    from millstream.cli.records.partition_choice import chosen_partitions

    if at is not None and sizes:
        raise click.UsageError("--sizes goes with the ends of partitions: leave out --at")
    asked = None if at is None else asked_time(at, _now_ms())
    with cluster.admin() as admin:
        partitions = chosen_partitions(admin, (*items, *more))
        errors: dict[TopicPartition, KafkaError] = {}
        if asked is not None:
            found = admin.list_offsets(dict.fromkeys(partitions, asked), read_committed=read_committed)  # fmt: skip
            rows, errors = at_rows(found), found.errors()
            columns: tuple[str, ...] = _AT
        else:
            first = admin.list_offsets(dict.fromkeys(partitions, _SPECS["earliest"]))
            last = admin.list_offsets(dict.fromkeys(partitions, _SPECS["latest"]), read_committed=read_committed)  # fmt: skip
            held = leader_bytes(admin, partitions, output) if sizes else None
            rows, errors = end_rows(first, last, held), first.errors() | last.errors()
            columns = _SIZED if sizes else _ENDS
    print_rows(rows, output, columns)
    finish(errors, output)


def asked_time(text: str, now_ms: int) -> int:
    """Returns a timestamp in ms, or Kafka's number for an offset that is named. Raises BadParameter."""
    from millstream.cli.records.offset_choice import duration_ms, timestamp_ms
    from millstream.cli.suggestions import or_near

    if text in _SPECS:
        return _SPECS[text]
    if text in {str(number) for number in _SPECS.values()}:
        return int(text)
    if text[:1].isdigit() and text[-1:] in "smhd":
        return max(0, now_ms - duration_ms(text))
    if text[:1].isdigit():
        return timestamp_ms(text)
    raise click.BadParameter(f"{text!r} is no time, as 2026-01-31T12:00:00 or 2h (ago), and none of {', '.join(_SPECS)}{or_near(text, list(_SPECS))}", param_hint="--at")  # fmt: skip


def at_rows(found: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError]) -> list[Row]:
    """Returns a row for each partition that answered. None: there is no such offset."""
    return [
        {
            "topic": key.topic,
            "partition": key.partition,
            "offset": _known(each.offset),
            "timestamp": _known(each.timestamp_ms),
            "leader_epoch": each.leader_epoch,
        }
        for key, each in found.items()
        if not isinstance(each, KafkaError)
    ]


def end_rows(
    first: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError],
    last: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError],
    held: Mapping[TopicPartition, int] | None,
) -> list[Row]:
    """Returns a row for each partition that answered both times.

    `held`: bytes in the leaders' logs; a leader that did not tell is None.
    """
    rows: list[Row] = []
    for key, begins in first.items():
        ends = last[key]
        if isinstance(begins, KafkaError) or isinstance(ends, KafkaError):
            continue
        row: dict[str, object] = {
            "topic": key.topic,
            "partition": key.partition,
            "earliest": begins.offset,
            "latest": ends.offset,
            "offsets": max(0, ends.offset - begins.offset),
        }
        rows.append(row if held is None else row | {"bytes": held.get(key)})
    return rows


def leader_bytes(
    admin: Admin, partitions: Mapping[TopicPartition, PartitionDescription], output: str
) -> dict[TopicPartition, int]:
    """Returns the size of the log that the leader of each partition has, where it tells; a note
    says why one does not.
    """
    leaders = {each.leader for each in partitions.values() if each.leader >= 0}
    answers = admin.describe_log_dirs(sorted(leaders), timeout_ms=_DIRECTORIES_MS)
    sizes: dict[TopicPartition, int] = {}
    for broker, answer in answers.items():
        if isinstance(answer, KafkaError):
            note(f"broker {broker} does not tell how large its logs are: {answer}", output)
            continue  # its column is empty
        for path, directory in answer.items():
            if isinstance(directory, KafkaError):
                note(
                    f"broker {broker} does not tell how large the logs in {path} are: {directory}",
                    output,
                )
                continue
            for key, replica in directory.replicas.items():
                if key in partitions and partitions[key].leader == broker and not replica.is_future:
                    sizes[key] = replica.size_bytes
    return sizes


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000
