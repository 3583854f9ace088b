"""`millstream cluster elect-leaders preferred | unclean`: partitions get their preferred leader again, or any
at all (kafka-leader-election).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import given_text
from millstream.cli.cluster.options import AskedNodes, whom_to_ask
from millstream.cli.cluster.reassignment.files import read_partitions
from millstream.cli.command import ClientCommand
from millstream.cli.completion.names import topic_names
from millstream.cli.near_names import with_near_topics
from millstream.cli.rows import (
    Row,
    confirm,
    dry_run_option,
    finish,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.errors import ElectionNotNeeded, KafkaError, UnknownTopicOrPartition
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.admin import PartitionDescription, TopicDescription
    from millstream.clients.blocking import Admin

_COLUMNS: Final = ("topic", "partition", "result", "leader")
_PREFERRED: Final = "preferred"
_UNCLEAN: Final = "unclean"


@click.command("elect-leaders", cls=ClientCommand, short_help="Have leaders elected.")
@whom_to_ask
@output_option
@yes_option
@dry_run_option
@click.argument("kind", type=click.Choice([_PREFERRED, _UNCLEAN]))
@click.argument("topics", nargs=-1, metavar="[TOPIC]...", shell_complete=topic_names)
@click.option("--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="This partition of the one TOPIC, and not all; may be repeated.")  # fmt: skip
@click.option("--path-to-json-file", "file", type=click.Path(exists=True, dir_okay=False), help="A file that names partitions, as for Kafka's tool.")  # fmt: skip
@click.option("--all", "--all-topic-partitions", "everything", is_flag=True, help="All partitions of all topics.")  # fmt: skip
def elect_leaders(
    kind: str,
    topics: tuple[str, ...],
    *,
    asked: AskedNodes,
    output: str,
    yes: bool,
    dry_run: bool,
    partitions: tuple[int, ...],
    file: str | None,
    everything: bool,
) -> None:
    """Elect leaders: preferred, the first replica where it is in sync; unclean, any replica that is
    up where there is no leader.

    An unclean leader may lack records that were acknowledged: those are lost.
    """
    if sum((bool(topics), file is not None, everything)) != 1:
        raise click.UsageError("name TOPICs, or give --path-to-json-file or --all")
    if partitions and len(topics) != 1:
        raise click.UsageError("--partition goes with one TOPIC")
    if asked.asks_controllers:
        raise click.UsageError("controllers do not tell who leads: give --bootstrap-server")
    named = None if file is None else read_partitions(given_text(file), file)
    if kind == _UNCLEAN and not dry_run:
        confirm("Elect leaders that may lack acknowledged records, which are lost then", yes=yes)
    with asked.admin() as admin:
        wanted = _wanted(admin, topics, partitions) if topics else named
        if dry_run:
            described = _described(admin, wanted)
            print_rows(planned_elections(described, kind, wanted), output, _COLUMNS)
            finish(missing_partitions(described, wanted or ()), output)
            return
        results = _elected(admin, kind, wanted)
        errors = {
            key: each
            for key, each in results.items()
            if isinstance(each, KafkaError) and not isinstance(each, ElectionNotNeeded)
        }
        leaders = _leaders(admin, results.keys() - errors.keys())
    rows = election_rows(results, leaders)
    print_rows(rows, output, _COLUMNS)
    if not results:
        note("no partition needs an election", output)
    finish(errors, output)


def election_rows(
    results: Mapping[TopicPartition, KafkaError | None], leaders: Mapping[TopicPartition, int]
) -> list[Row]:
    """Returns a row for each partition that has the leader it should have."""
    return [
        {
            "topic": key.topic,
            "partition": key.partition,
            "result": "elected" if error is None else "not needed",
            "leader": leaders.get(key),
        }
        for key, error in sorted(results.items(), key=lambda each: each[0])
        if error is None or isinstance(error, ElectionNotNeeded)
    ]


def planned_elections(
    described: Iterable[TopicDescription], kind: str, wanted: Collection[TopicPartition] | None
) -> list[Row]:
    """Returns a row for each partition, with what an election would do and the leader that it has now."""
    return [
        {
            "topic": topic.name,
            "partition": each.partition,
            "result": _planned(each, kind),
            "leader": None if each.leader < 0 else each.leader,
        }
        for topic in described
        for each in topic.partitions
        if wanted is None or TopicPartition(topic.name, each.partition) in wanted
    ]


def missing_partitions(
    described: Iterable[TopicDescription], wanted: Iterable[TopicPartition]
) -> dict[TopicPartition, KafkaError]:
    """Returns an error for each partition that is not there, as an election would."""
    there = {TopicPartition(topic.name, each.partition) for topic in described for each in topic.partitions}  # fmt: skip
    return {
        key: UnknownTopicOrPartition(f"there is no partition {key}")
        for key in wanted
        if key not in there
    }


def _planned(partition: PartitionDescription, kind: str) -> str:
    """A preferred leader must be in sync; an unclean one must only be up, and there must be no leader."""
    first = partition.replicas[0]
    if kind == _PREFERRED:
        if partition.leader == first:
            return "not needed"
        return f"{first} would be elected" if first in partition.isr else f"{first} is not in sync"
    if partition.leader >= 0:
        return "not needed"
    up = [each for each in partition.replicas if each not in partition.offline_replicas]
    return f"one of {', '.join(map(str, up))} would be elected" if up else "no replica is up"


def _described(admin: Admin, wanted: Collection[TopicPartition] | None) -> list[TopicDescription]:
    """Raises the error of a topic that is not there."""
    names = admin.list_topics(include_internal=True) if wanted is None else {key.topic for key in wanted}  # fmt: skip
    found = with_near_topics(admin, admin.describe_topics(sorted(names))).raise_errors()
    return [found.result(name) for name in found]


def _wanted(
    admin: Admin, topics: Sequence[str], partitions: Sequence[int]
) -> Sequence[TopicPartition]:
    """The partitions of the topics. Raises the error of a topic that is not there."""
    if partitions:
        return [TopicPartition(topics[0], each) for each in dict.fromkeys(partitions)]
    described = with_near_topics(admin, admin.describe_topics(dict.fromkeys(topics))).raise_errors()
    return [
        TopicPartition(topic.name, each.partition)
        for topic in described.values()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
    ]


def _elected(
    admin: Admin, kind: str, wanted: Sequence[TopicPartition] | None
) -> Mapping[TopicPartition, KafkaError | None]:
    from millstream.clients.admin import ElectionType

    election = ElectionType.PREFERRED if kind == _PREFERRED else ElectionType.UNCLEAN
    return admin.elect_leaders(election, wanted)


def _leaders(admin: Admin, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Who leads now, as far as the broker that is asked has read of it."""
    if not partitions:
        return {}
    described = admin.describe_topics({key.topic for key in partitions})
    return {
        TopicPartition(topic.name, each.partition): each.leader
        for topic in described.values()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
    }
