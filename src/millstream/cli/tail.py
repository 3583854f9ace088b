"""`millstream tail TOPIC...`: the newest records of topics, whatever partitions they are in, and
then what comes (`--follow`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, admin_beside, cluster_options
from millstream.cli.command import INTERRUPTED, TERMINATED, ClientCommand, leave, leaving_soon
from millstream.cli.completion.names import topic_names
from millstream.cli.records.value_formats import (
    FORMATS,
    WINDOWED,
    format_of,
    shower,
)
from millstream.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.cli.records.consume_loop import ConsumeLoop
    from millstream.cli.records.text import Shown, Write
    from millstream.clients import ConsumerRecord

    Show = Callable[[ConsumerRecord], Shown]

_COUNT_MAX: Final = 100_000
"""About twice so many are held before the first is printed."""
_SPARE: Final = 1_000
"""As many as a poll may give: where few are wanted, not every poll has those that are held sorted."""


def _format(_context: click.Context, _option: click.Parameter, name: str) -> str:
    return format_of(name)


@click.command(cls=ClientCommand)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=topic_names)
@cluster_options
@click.option(
    "--lines", "-n", "count", type=click.IntRange(0, _COUNT_MAX), default=10, show_default=True, metavar="N",
    help="How many of the newest records to print.",
)  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option(
    "--output", type=click.Choice(["table", "raw", "json", "jsonl"]), default="table", show_default=True,
    help="table: for people. raw: values, one on each line. json and jsonl: an object on each line.",
)  # fmt: skip
@click.option(
    "--key-format", default="string", callback=_format, show_default=True,
    metavar="|".join((*FORMATS, *WINDOWED)), help="How the bytes of a key are read.",
)  # fmt: skip
@click.option(
    "--value-format", default="string", callback=_format, show_default=True, metavar="FORMAT",
    help="How the bytes of a value are read; formats as for --key-format.",
)  # fmt: skip
@click.option("--schema-registry", metavar="URL", help="Address of the schema registry, for the formats avro and json-schema.")  # fmt: skip
def tail(
    topics: tuple[str, ...],
    *,
    cluster: ClusterOptions,
    count: int,
    follow: bool,
    output: str,
    key_format: str,
    value_format: str,
    schema_registry: str | None,
) -> None:
    """Print the newest records of TOPICs by their timestamps, whatever partitions they are in.

    Of each partition the last N offsets are read: fewer than N records come where transactions and
    compaction have taken some.
    """
    from millstream.cli.records.consume_loop import ConsumeLoop, interruptible
    from millstream.cli.records.offset_choice import Bounds, Start
    from millstream.cli.records.positions import partitions_of, seek
    from millstream.clients.blocking import Consumer
    from millstream.clients.config import ConsumerConfig
    from millstream.runtime.system import SystemClock

    show = forgiving(shower(key_format, value_format, partial(cluster.registry, schema_registry)))
    write, head = _writer(output, topics)
    clock = SystemClock()
    settings = cluster.settings(ConsumerConfig, allow_auto_create_topics=False)
    out = sys.stdout.buffer
    with Consumer(**settings) as consumer, leaving_soon(consumer):
        with admin_beside(settings) as admin:
            partitions = partitions_of(admin, dict.fromkeys(topics), None, None)
        stop = seek(consumer, partitions, Bounds(Start("tail", count)), until_end=True)
        found: list[ConsumerRecord] = []
        loop = ConsumeLoop(
            consumer,
            emit=lambda record: keep(found, record, count),
            flush=out.flush,
            now_ms=lambda: clock.now().monotonic_ms,
            stop=stop,
        )
        with interruptible(consumer) as asked:
            loop.run(asked)
            out.write(head)
            for record in newest(found, count):
                out.write(write(show(record)))
            out.flush()
            if follow and asked.signal is None:
                go_on(loop, lambda record: out.write(write(show(record))))
                loop.run(asked)
        if asked.signal is not None:
            leave(consumer)
    if asked.signal is not None:
        sys.exit(INTERRUPTED if asked.signal == signal.SIGINT else TERMINATED)


def keep(found: list[ConsumerRecord], record: ConsumerRecord, count: int) -> None:
    """Adds a record, and takes out what is not among the newest once there are many: a topic has any number of
    partitions.
    """
    found.append(record)
    if len(found) >= 2 * count + _SPARE:
        found[:] = newest(found, count)


def go_on(loop: ConsumeLoop, emit: Callable[[ConsumerRecord], object]) -> None:
    """Has the next run give all from where this one was to stop. What came behind that while other partitions were
    read is behind the position already, and was left out.
    """
    stop = loop.stop or {}
    for partition, end in stop.items():
        loop.consumer.seek(partition, end)
    loop.consumer.resume(stop)  # those with nothing to read were not fetched from
    loop.emit = emit
    loop.stop = None


def newest(records: Sequence[ConsumerRecord], count: int) -> list[ConsumerRecord]:
    """Returns the records with the latest timestamps, the newest last."""
    last = nlargest(count, records, key=lambda each: (each.timestamp_ms, each.offset))
    return sorted(last, key=lambda each: (each.timestamp_ms, each.topic, each.partition, each.offset))  # fmt: skip


def forgiving(show: Show) -> Show:
    """Returns a function that shows what cannot be read as the bytes that it is, and says so: whoever looks
    for a bad record wants to see it.
    """
    from millstream.clients.core.serialization import SerializationError

    show_bytes = shower("bytes", "bytes", None)

    def shown(record: ConsumerRecord) -> Shown:
        try:
            return show(record)
        except SerializationError as error:
            where = f"{record.topic_partition} offset {record.offset}"
            click.echo(printable(f"warning: {where}: {error}"), err=True)
            return show_bytes(record)

    return shown


def _writer(output: str, topics: Sequence[str]) -> tuple[Write, bytes]:
    from millstream.cli.records import text

    if output == "table":
        table = text.table(topics, more_may_come=False)
        return table.row, table.head()
    if output == "raw":
        return text.plain(None, "\\n", ""), b""
    return text.json_line, b""
