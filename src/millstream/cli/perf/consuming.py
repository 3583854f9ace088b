"""`millstream perf consume`: reads records as fast as they come, as Python objects or as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    admin_beside,
    check_reachable,
    cluster_options,
)
from millstream.cli.command import ClientCommand, leaving_soon
from millstream.cli.completion.names import topic_names
from millstream.cli.perf.statistics import HEADER, Read
from millstream.cli.rows import for_people, output_option
from millstream.errors import RequestTimedOut
from millstream.quoting import counted
from millstream.runtime.system import SystemClock

if TYPE_CHECKING:
    from millstream.cli.perf.rebalances import RebalanceTimer
    from millstream.clients.blocking import Consumer
    from millstream.model import TopicPartition

_POLL_MS = 100
"""As kafka-consumer-perf-test.sh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options and arguments, by the names that click gives them."""

    named: str | None
    count: int | None
    group: str | None
    from_latest: bool
    silence_max_ms: int
    fetch_size: int | None
    arrow: bool
    interval_ms: int
    show_detailed_stats: bool
    hide_header: bool
    output: str


@click.command(cls=ClientCommand)
@click.argument("topic", required=False, shell_complete=topic_names)
@cluster_options
@click.option("--topic", "-t", "named", help="Same as the argument.", shell_complete=topic_names)
@click.option(
    "--num-records",
    "--messages",
    "-n",
    "-c",
    "count",
    type=click.IntRange(1),
    help="Stop after this many records. Default: all records.",
)
@click.option("--group", "-G", help="Join this group. Default: no group, all partitions.")
@click.option("--from-latest", is_flag=True, help="Read only new records.")
@click.option(
    "--timeout",
    "silence_max_ms",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Stop when no record came for this many milliseconds.",
)
@click.option(
    "--fetch-size",
    type=click.IntRange(1),
    help="Most bytes of one partition in an answer of the broker.",
)
@click.option("--arrow", is_flag=True, help="Read Arrow batches instead of single records.")
@click.option(
    "--reporting-interval",
    "interval_ms",
    type=click.IntRange(1),
    default=5_000,
    show_default=True,
    help="Milliseconds between two reports.",
)
@click.option("--show-detailed-stats", is_flag=True, help="Print reports while it runs.")
@click.option("--hide-header", is_flag=True, help="Do not print the names of the columns.")
@output_option
def consume(topic: str | None, *, cluster: ClusterOptions, **given: Given) -> None:
    """Read TOPIC and measure. Without --group and --num-records it stops at the current end of the topic."""
    from millstream.cli.perf.rebalances import RebalanceTimer
    from millstream.cli.records.offset_choice import Bounds, Start
    from millstream.cli.records.positions import partitions_of, seek
    from millstream.clients.blocking import Consumer
    from millstream.clients.config import ConsumerConfig

    options = _Options(**given)
    topic = topic or options.named
    if topic is None:
        raise click.UsageError("give a TOPIC")
    settings = cluster.settings(
        ConsumerConfig,
        group_id=options.group,
        max_partition_fetch_bytes=options.fetch_size,
        auto_offset_reset="latest" if options.from_latest else "earliest",
        allow_auto_create_topics=False,
    )
    with Consumer(**settings) as consumer, leaving_soon(consumer):
        run = _Run(consumer, options)
        if options.group is None:
            with admin_beside(settings) as admin:
                partitions = partitions_of(admin, [topic], None, None)
            start = Start("end" if options.from_latest else "beginning")
            run.ends = seek(consumer, partitions, Bounds(start), until_end=not options.count)
        else:
            check_reachable(settings)
            run.rebalances = RebalanceTimer(run.now_ms)
            consumer.subscribe([topic], listener=run.rebalances)
        try:
            run.read()
        except KeyboardInterrupt:
            click.echo(f"interrupted: {_share_read(run.so_far, options)}", err=True)
            _print(run.so_far, options)
            raise
    _print(run.so_far, options)
    if options.count is not None and run.so_far.count < options.count:
        raise RequestTimedOut(
            f"{_share_read(run.so_far, options)}: none came for {options.silence_max_ms} ms (--timeout)"
        )


def _share_read(read: Read, options: _Options) -> str:
    if options.count is None:
        return f"{counted(read.count, 'record')} read"
    return f"{read.count} of {counted(options.count, 'record')} read"


def _print(read: Read, options: _Options) -> None:
    if not for_people(options.output):
        import orjson

        click.echo(orjson.dumps(read.members()))
        return
    if not options.hide_header:
        click.echo(HEADER)
    click.echo(read.line())


class _Run:
    """Polls and counts."""

    def __init__(self, consumer: Consumer, options: _Options) -> None:
        self._consumer = consumer
        self._clock = SystemClock()
        self._poll: Callable[[], tuple[int, int]] = (
            self._poll_arrow if options.arrow else self._poll_records
        )
        if options.arrow:
            import pyarrow.compute as _  # noqa: F401 - its import shall not be timed
        self._count_max: int | None = options.count
        self._silence_max_ms: int = options.silence_max_ms
        self._report_ms: int | None = options.interval_ms if options.show_detailed_stats else None
        self.ends: dict[TopicPartition, int] | None = None
        self.rebalances: RebalanceTimer | None = None
        self.so_far = self._read(self.now_ms(), self.now_ms(), 0, 0)

    def read(self) -> None:
        """Until there is enough, the end, or silence."""
        started_ms = heard_ms = reported_ms = self.now_ms()
        self.so_far = self._read(started_ms, started_ms, 0, 0)
        count = size = 0
        while self._count_max is None or count < self._count_max:
            records, content = self._poll()
            now_ms = self.now_ms()
            if records:
                count, size, heard_ms = count + records, size + content, now_ms
                self.so_far = self._read(started_ms, now_ms, count, size)
            elif self._is_at_end() or now_ms - heard_ms >= self._silence_max_ms:
                break
            if self._report_ms is not None and now_ms - reported_ms >= self._report_ms:
                reported_ms = now_ms
                click.echo(self._read(started_ms, now_ms, count, size).line(), err=True)

    def _read(self, started_ms: int, now_ms: int, count: int, size: int) -> Read:
        rebalances = self.rebalances
        return Read(
            started_ms, now_ms, count, size, 0 if rebalances is None else rebalances.total_ms
        )

    def _is_at_end(self) -> bool:
        return self.ends is not None and all(
            self._consumer.position(partition) >= end for partition, end in self.ends.items()
        )

    def _poll_records(self) -> tuple[int, int]:
        records = self._consumer.poll(timeout_ms=_POLL_MS)
        return len(records), sum(
            len(record.key or b"") + len(record.value or b"") for record in records
        )

    def _poll_arrow(self) -> tuple[int, int]:
        import pyarrow.compute as pc

        count = size = 0
        for batch in self._consumer.poll_arrow(timeout_ms=_POLL_MS):
            count += len(batch.records)
            for name in ("key", "value"):
                size += pc.sum(pc.binary_length(batch.records.column(name))).as_py() or 0
        return count, size

    def now_ms(self) -> int:
        return self._clock.now().wall_ms
