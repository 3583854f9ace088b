"""`millstream copy SOURCE TARGET`: keys, values, headers and timestamps of records stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    Settings,
    admin_beside,
    cluster_options,
    pairs,
)
from millstream.cli.command import ClientCommand, leaving_soon
from millstream.cli.completion.names import topic_names
from millstream.cli.copy.target import (
    TargetOptions,
    check_partitions,
    create_target,
    missing_target,
    source_topic,
    target_cluster,
    target_options,
    target_topic,
)
from millstream.cli.progress import at_terminal
from millstream.cli.rows import Row, dry_run_option, output_option, print_rows
from millstream.cli.terminal import printable
from millstream.errors import ConfigError
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.cli.copy.bookmark import Bookmark
    from millstream.cli.copy.copying import Copying, Keeping
    from millstream.cli.copy.ranges import Range
    from millstream.cli.records.offset_choice import Bounds
    from millstream.clients.admin import TopicDescription
    from millstream.clients.blocking import Admin, Consumer, Producer
    from millstream.model import TopicPartition

_PLANNED: Final = ("partition", "from", "to", "offsets")
_COPIED: Final = ("partition", "from", "next", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options, by the names that click gives them."""

    offsets: tuple[str, ...]
    since: str | None
    partitions: tuple[str, ...]
    count_max: int | None
    follow: bool
    repartition: bool
    create: bool
    compression: str | None
    isolation_level: str
    bookmark: str | None
    exactly_once: bool
    dry_run: bool
    output: str
    quiet: bool


@click.command(cls=ClientCommand)
@cluster_options
@target_options
@click.option(
    "--offset", "-o", "offsets", multiple=True, metavar="beginning|end|N|N:END|-N|@TIME|s@TIME|e@TIME",
    help="Where to start (default: beginning). e@TIME is where to stop, :END the offset to stop before. TIME: milliseconds since 1970, or ISO 8601.",
)  # fmt: skip
@click.option("--since", metavar="DURATION", help="Start with the records of the last DURATION, such as 10m or 2h.")  # fmt: skip
@click.option("--partition", "-p", "partitions", multiple=True, metavar="N[,N]", help="Copy only these partitions of the source.")  # fmt: skip
@click.option("--count", "--max-messages", "-c", "count_max", type=click.IntRange(0), help="Stop after this many records.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C. Default: stop at what is the end at the start.")  # fmt: skip
@click.option("--repartition", is_flag=True, help="Let keys decide on the partition. Default: it keeps its number.")  # fmt: skip
@click.option("--create", is_flag=True, help="Make the target where it does not exist: partitions and settings as the source has them.")  # fmt: skip
@click.option("--compression", "-z", help="Compress with gzip, snappy, lz4 or zstd, or none.")
@click.option(
    "--isolation-level", type=click.Choice(["read_uncommitted", "read_committed"]), default="read_committed", show_default=True,
    help="read_committed leaves out records of open and aborted transactions.",
)  # fmt: skip
@click.option("--bookmark", metavar="NAME", help="Go on where the last copy of this NAME stopped: kept as a group of the target's cluster.")  # fmt: skip
@click.option("--exactly-once", is_flag=True, help="Write in transactions together with the bookmark: nothing is there twice, whatever is killed.")  # fmt: skip
@dry_run_option
@output_option
@click.option("--quiet", "-q", is_flag=True, help="Do not print how much was copied.")
@click.argument("source", shell_complete=topic_names)
@click.argument("target", shell_complete=topic_names)
def copy(
    source: str, target: str, *, cluster: ClusterOptions, to_bootstrap: str | None, to_config: str | None,
    to_properties: tuple[str, ...], to_profile: str | None, **given: Given,
) -> None:  # fmt: skip
    """Copy the records of the topic SOURCE to the topic TARGET, of the same cluster or of another one (--to-bootstrap,
    --to-profile). Keys, values, headers, timestamps and the order in a partition stay as they are.

    Without --exactly-once a copy that is begun again may write up to a second's records twice.
    """
    from millstream.cli.copy.copying import Copying, CopyPlan
    from millstream.cli.records.offset_choice import parse_bounds
    from millstream.clients.blocking import Consumer, Producer
    from millstream.runtime.system import SystemClock

    options = _Options(**given)
    clock = SystemClock()
    bounds = parse_bounds(options.offsets, options.since, clock.now().wall_ms)
    _check(options, bounds)
    other = target_cluster(TargetOptions(to_bootstrap, to_config, to_properties, to_profile))
    reading, writing = _settings(cluster, other, to_properties, options)
    with ExitStack() as stack:
        consumer = stack.enter_context(Consumer(**reading))  # both first: they check their settings
        stack.enter_context(leaving_soon(consumer))
        producer = stack.enter_context(Producer(**writing))
        stack.enter_context(leaving_soon(producer))
        admin = stack.enter_context(admin_beside(reading))
        to_admin = stack.enter_context(admin_beside(writing))
        described = source_topic(admin, source)
        there = _target(admin, to_admin, described, target, options)
        bookmark = _bookmark(admin, to_admin, options.bookmark, described, there)
        if options.dry_run:
            noted = {} if bookmark is None else bookmark.read(to_admin)
            ranges = _ranges(consumer, described, bounds, noted, options)
            print_rows(_planned(ranges), options.output, _PLANNED)
            return
        if options.exactly_once:
            producer.init_transactions()  # ends what an earlier copy left, before its bookmark is read
        noted = {} if bookmark is None else bookmark.read(to_admin)
        copying = Copying(
            consumer,
            producer,
            CopyPlan(
                target=target,
                ranges=_ranges(consumer, described, bounds, noted, options),
                noted=noted,
                keeps_partitions=not options.repartition,
                count_max=options.count_max,
            ),
            _keeping(producer, to_admin, bookmark, exactly_once=options.exactly_once),
        )
        _run(copying, lambda: clock.now().monotonic_ms, target, options)


def _settings(
    cluster: ClusterOptions, other: ClusterOptions | None, to_properties: tuple[str, ...], options: _Options
) -> tuple[Settings, Settings]:  # fmt: skip
    """Returns those of the consumer and of the producer. In one cluster -X is for both, and for each what it has."""
    from millstream.clients.config import ConsumerConfig, ProducerConfig

    to = other or cluster.adding(pairs(to_properties, "--to-property"))
    transactional_id = f"millstream-copy-{options.bookmark}" if options.exactly_once else None
    reading = cluster.settings(
        ConsumerConfig,
        *(() if other else (ProducerConfig,)),
        auto_offset_reset="none",  # what is gone, or was lost by a leader, ends a copy: another one tells what
        isolation_level=options.isolation_level,
        allow_auto_create_topics=False,
    )
    writing = to.settings(
        ProducerConfig,
        *(() if other else (ConsumerConfig,)),
        compression_type=options.compression,
        transactional_id=transactional_id,
    )
    return reading, writing


def _check(options: _Options, bounds: Bounds) -> None:
    """Raises UsageError."""
    if bounds.start is not None and bounds.start.kind == "stored":
        raise click.UsageError("-o stored is --bookmark NAME here")
    if options.exactly_once and options.bookmark is None:
        raise click.UsageError(
            "--exactly-once needs --bookmark NAME, for it is kept in the same transactions"
        )
    if options.follow and (bounds.stop_ms is not None or bounds.stop_offset is not None):
        raise click.UsageError("--follow has no end: leave out the end in -o")


def _target(
    admin: Admin, to_admin: Admin, described: TopicDescription, target: str, options: _Options
) -> TopicDescription | None:
    """Returns None for a topic that a trial would make."""
    found = target_topic(to_admin, target)
    if found is None and options.create and options.dry_run:
        return None
    if found is None and options.create:
        found = create_target(admin, to_admin, described, target)
    if found is None:
        raise missing_target(to_admin, target)
    if (found.name, found.topic_id) == (described.name, described.topic_id) and (
        admin.describe_cluster().cluster_id == to_admin.describe_cluster().cluster_id
    ):
        raise ConfigError(f"{target} would be copied to itself")
    if not options.repartition:
        check_partitions(described, found)
    return found


def _bookmark(
    admin: Admin,
    to_admin: Admin,
    group: str | None,
    source: TopicDescription,
    target: TopicDescription | None,
) -> Bookmark | None:
    """Returns None where none is wanted, and where the target is not there yet."""
    if group is None or target is None:
        return None
    from millstream.cli.copy.bookmark import SOURCES_MAX, Bookmark

    count = len(target.partitions)
    if len(source.partitions) > SOURCES_MAX * count:
        raise ConfigError(
            f"a bookmark holds {SOURCES_MAX} partitions of the source for each of the target: {target.name} needs more of them"
        )
    return Bookmark(
        group,
        f"{source.name} ({source.topic_id} in cluster {admin.describe_cluster().cluster_id})",
        f"{target.name} ({target.topic_id} in cluster {to_admin.describe_cluster().cluster_id})",
        target.name,
        count,
    )


def _ranges(
    consumer: Consumer,
    described: TopicDescription,
    bounds: Bounds,
    noted: dict[int, int],
    options: _Options,
) -> dict[TopicPartition, Range]:
    from millstream.cli.copy.ranges import plan_ranges
    from millstream.cli.records.positions import lookups, partition_numbers
    from millstream.model import TopicPartition

    wanted = partition_numbers(options.partitions)
    numbers = sorted(each.partition for each in described.partitions)
    if wanted is not None and not wanted <= set(numbers):
        missing = ", ".join(map(str, sorted(wanted - set(numbers))))
        raise click.UsageError(f"{described.name} has no partition {missing}: it has {len(numbers)}, counted from 0")  # fmt: skip
    partitions = [TopicPartition(described.name, each) for each in numbers if wanted is None or each in wanted]  # fmt: skip

    def tell(sentence: str) -> None:
        click.echo(f"warning: {printable(sentence)}", err=True)

    return plan_ranges(partitions, bounds, noted, lookups(consumer), tell, follows=options.follow)


def _keeping(
    producer: Producer, to_admin: Admin, bookmark: Bookmark | None, *, exactly_once: bool
) -> Keeping:
    from millstream.cli.copy.copying import Delivered, Noted, Transactional

    if bookmark is None:
        return Delivered(producer)
    return (
        Transactional(producer, bookmark) if exactly_once else Noted(producer, to_admin, bookmark)
    )


def _run(copying: Copying, now_ms: Callable[[], int], target: str, options: _Options) -> None:
    """Copies, and says how far it came, however it ended."""
    total = None if options.follow else sum(each.count for each in copying.ranges.values())
    if total is not None and options.count_max is not None:
        total = min(total, options.count_max)
    try:
        with at_terminal(now_ms, quiet=options.quiet) as progress:
            copying.run(now_ms, lambda sent: progress.tell(sent, total, "records"))
    finally:
        print_rows(_done(copying), options.output, _COPIED)
        if not options.quiet:
            click.echo(_summary(copying, target, options), err=True)


def _summary(copying: Copying, target: str, options: _Options) -> str:
    """Returns how much is there for good, and how much more may be, where the copy was stopped early."""
    copied = sum(copying.copied.values())
    told = f"{counted(copied, 'record')} copied to {printable(target)}"
    more = copying.sent - copied
    if not more:
        return told
    if options.exactly_once:
        return f"{told}, {more} in a transaction that was not committed"
    return f"{told}, {more} more were on their way, and may be there"


def _planned(ranges: Mapping[TopicPartition, Range]) -> list[Row]:
    return [
        {
            "partition": each.partition,
            "from": of.start,
            "to": of.stop,
            "offsets": None if of.stop is None else of.count,
        }
        for each, of in ranges.items()
    ]


def _done(copying: Copying) -> list[Row]:
    return [
        {
            "partition": number,
            "from": of.start,
            "next": copying.next_offsets[number],
            "records": copying.copied[number],
        }
        for number, of in copying.ranges.items()
    ]
