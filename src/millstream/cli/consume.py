"""`millstream consume TOPIC...`: records to standard output. In kcat's spirit, with the options of Kafka's tool."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from millstream.cli.arguments import ANY_BYTES, PATTERN, checked_pattern
from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    Settings,
    admin_beside,
    cluster_options,
    pairs,
)
from millstream.cli.command import INTERRUPTED, TERMINATED, ClientCommand, leave, leaving_soon
from millstream.cli.completion.names import group_names, topic_names
from millstream.cli.near_names import topics_not_there
from millstream.cli.progress import at_terminal
from millstream.cli.records.value_formats import (
    FORMATS,
    WINDOWED,
    format_of,
    shower,
)
from millstream.cli.terminal import printable

if TYPE_CHECKING:
    from millstream.cli.records.offset_choice import Bounds
    from millstream.cli.records.text import Shown, Write
    from millstream.clients.blocking import Consumer

_FORMATTER = ("print.", "key.separator", "line.separator", "headers.separator", "null.literal")
"""Kafka has one --property for the formatter and one for the client; here the name decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options and arguments, by the names that click gives them."""

    more_topics: tuple[str, ...]
    pattern: str | None
    group: str | None
    group_protocol: str | None
    offsets: tuple[str, ...]
    from_beginning: bool
    since: str | None
    partitions: tuple[str, ...]
    count_max: int | None
    exit_at_end: bool
    silence_max_ms: int | None
    isolation_level: str | None
    template: str | None
    output: str
    as_envelopes: bool
    key_separator: str | None
    delimiter: str
    null: str
    headers: bool
    properties: tuple[str, ...]
    key_format: str
    value_format: str
    schema_registry: str | None
    skip_message_on_error: bool
    quiet: bool


def _format(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    return None if name is None else format_of(name)


@click.command(cls=ClientCommand)
@click.argument("topics", nargs=-1, metavar="TOPIC|^REGEX...", shell_complete=topic_names)
@cluster_options
@click.option(
    "--topic",
    "-t",
    "more_topics",
    multiple=True,
    help="Same as the argument.",
    shell_complete=topic_names,
)
@click.option(
    "--include",
    "pattern",
    type=PATTERN,
    metavar="REGEX",
    help="Read all topics whose whole name matches.",
)
@click.option(
    "--group",
    "-G",
    shell_complete=group_names,
    help="Join this group and commit offsets. Default: no group, all partitions.",
)
@click.option(
    "--group-protocol",
    type=click.Choice(["classic", "consumer"]),
    help="How the group assigns partitions. Default: classic.",
)
@click.option(
    "--offset", "-o", "offsets", multiple=True,
    metavar="beginning|end|stored|N|N:END|-N|@TIME|s@TIME|e@TIME",
    help="Where to start (default: end). e@TIME is where to stop, :END the offset to stop before. TIME: milliseconds since 1970, or ISO 8601.",
)  # fmt: skip
@click.option("--from-beginning", is_flag=True, help="Same as -o beginning.")
@click.option(
    "--since",
    metavar="DURATION",
    help="Start with the records of the last DURATION, such as 10m or 2h.",
)
@click.option(
    "--partition",
    "-p",
    "partitions",
    multiple=True,
    metavar="N[,N]",
    help="Read only these partitions.",
)
@click.option(
    "--max-messages", "--num-records", "-c", "-n", "count_max", type=click.IntRange(0),
    help="Stop after this many records.",
)  # fmt: skip
@click.option(
    "--exit", "-e", "exit_at_end", is_flag=True, help="Stop at the end of the partitions."
)
@click.option(
    "--timeout-ms",
    "silence_max_ms",
    type=int,
    help="Stop when no record came for this many milliseconds.",
)
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    help="read_committed hides records of open and aborted transactions. Default: read_uncommitted.",
)
@click.option(
    "--format",
    "-f",
    "template",
    type=ANY_BYTES,
    metavar="TEXT",
    help="kcat's format: %s value, %k key, %o offset, %p partition, %t topic, %T time, %h headers, %S %K lengths.",
)
@click.option(
    "--output", type=click.Choice(["raw", "json", "jsonl", "table"]), default="raw", show_default=True,
    help="raw: the bytes as they are. table: for people; control characters are shown as escapes.",
)  # fmt: skip
@click.option("-J", "as_envelopes", is_flag=True, help="Same as --output jsonl.")
@click.option(
    "--key-separator", "-K", type=ANY_BYTES, metavar="TEXT",
    help="Print the key and this text before each value.",
)  # fmt: skip
@click.option(
    "--delimiter", "-D", type=ANY_BYTES, default="\\n", show_default=True,
    help="Printed after each record; escapes such as \\x00 are understood.",
)  # fmt: skip
@click.option("--headers", is_flag=True, help="Print headers and a tab before each value.")
@click.option(
    "--null", "-Z", "null", type=ANY_BYTES, default="", help="The text to print for a null."
)
@click.option(
    "--property", "--formatter-property", "properties", type=ANY_BYTES, multiple=True, metavar="KEY=VALUE",
    help="A property of Kafka's formatter (print.key, print.offset, key.separator, ...), else a setting of the client.",
)  # fmt: skip
@click.option(
    "--key-format", "--key-deserializer", default="string", callback=_format, show_default=True,
    metavar="|".join((*FORMATS, *WINDOWED)), help="How the bytes of a key are read.",
)  # fmt: skip
@click.option(
    "--value-format", "--value-deserializer", default="string", callback=_format, show_default=True,
    metavar="FORMAT", help="How the bytes of a value are read; formats as for --key-format.",
)  # fmt: skip
@click.option(
    "--schema-registry",
    metavar="URL",
    help="Address of the schema registry, for the formats avro and json-schema.",
)
@click.option(
    "--skip-message-on-error", is_flag=True, help="Skip records that cannot be deserialized."
)
@click.option("--quiet", "-q", is_flag=True, help="Do not print the number of records.")
def consume(topics: tuple[str, ...], *, cluster: ClusterOptions, **given: Given) -> None:
    """Print records of topics as they arrive. A TOPIC that begins with ^ is a pattern of names."""
    from millstream.cli.records.consume_loop import ConsumeLoop, interruptible
    from millstream.cli.records.offset_choice import parse_bounds
    from millstream.cli.records.positions import partition_numbers, partitions_of, seek
    from millstream.clients.blocking import Consumer
    from millstream.clients.config import ConsumerConfig
    from millstream.runtime.system import SystemClock

    options = _Options(**given)
    names, pattern = _chosen_topics((*topics, *options.more_topics), options.pattern)
    properties = pairs(options.properties, "--property")
    formatter = {key: value for key, value in properties.items() if key.startswith(_FORMATTER)}
    cluster = cluster.adding({key: properties[key] for key in properties if key not in formatter})
    write, head, tail = _writer(options, formatter, names, pattern)
    registry = partial(cluster.registry, options.schema_registry)
    show = shower(options.key_format, options.value_format, registry)
    starts = ("beginning",) if options.from_beginning else ()
    clock = SystemClock()
    bounds = parse_bounds((*starts, *options.offsets), options.since, clock.now().wall_ms)
    _check_grouping(options, bounds)
    wanted = partition_numbers(options.partitions)
    settings = cluster.settings(ConsumerConfig, **_chosen_settings(options, bounds))
    with Consumer(**settings) as consumer, leaving_soon(consumer):
        stop = None
        if options.group is None:
            with admin_beside(settings) as admin:
                partitions = partitions_of(admin, names, pattern, wanted)
            bounds = _bounds_without_group(bounds, settings)
            stop = seek(consumer, partitions, bounds, until_end=options.exit_at_end)
        else:
            _subscribe(consumer, settings, names, pattern)
        out, now_ms = sys.stdout.buffer, lambda: clock.now().monotonic_ms
        progress = at_terminal(now_ms, quiet=options.quiet, prints_records=True)
        loop = ConsumeLoop(
            consumer,
            emit=lambda record: out.write(write(show(record))),
            flush=out.flush,
            now_ms=now_ms,
            stop=stop,
            until_end=options.exit_at_end,
            count_max=options.count_max,
            silence_max_ms=options.silence_max_ms,
            skip_errors=options.skip_message_on_error,
            tell=lambda count: progress.tell(count, options.count_max, "records"),
        )
        out.write(head)
        with progress, interruptible(consumer) as asked:
            loop.run(asked)
        out.write(tail)
        out.flush()
        if asked.signal is not None:
            leave(consumer)
    if not options.quiet:
        click.echo(loop.summary(), err=True)
    if asked.signal is not None:
        sys.exit(INTERRUPTED if asked.signal == signal.SIGINT else TERMINATED)


def _subscribe(
    consumer: Consumer, settings: Settings, names: list[str], pattern: str | None
) -> None:
    """Raises BrokerNotAvailable at once when nothing listens.

    A topic that is not there is waited for, which is told.
    """
    with admin_beside(settings) as admin:
        admin.describe_cluster()
        for sentence in topics_not_there(admin, names):
            click.echo(printable(f"warning: {sentence} (waiting for it)"), err=True)
    consumer.subscribe(names, pattern=pattern)


def _chosen_topics(given: tuple[str, ...], include: str | None) -> tuple[list[str], str | None]:
    patterns = [name for name in given if name.startswith("^")] + ([include] if include else [])
    names = [name for name in given if not name.startswith("^")]
    if bool(names) == bool(patterns) or len(patterns) > 1:
        raise click.UsageError("give one or more TOPICs, or one pattern that begins with ^")
    return names, checked_pattern(patterns[0]) if patterns else None


def _check_grouping(options: _Options, bounds: Bounds) -> None:
    """A group's members start where the group stopped: -o says only where a new group begins."""
    kind = None if bounds.start is None else bounds.start.kind
    if options.group is None:
        if kind == "stored":
            raise click.UsageError("-o stored needs --group")
        return
    if options.partitions:
        raise click.UsageError(
            "--partition cannot be used with --group: the group assigns the partitions"
        )
    stops = bounds.stop_ms is not None or bounds.stop_offset is not None
    if stops or kind in {"offset", "tail", "time"}:
        raise click.UsageError("with --group, -o can only be beginning, end or stored")


def _bounds_without_group(bounds: Bounds, settings: Settings) -> Bounds:
    """Nothing was committed, so the consumer's own reset counts if one was set, else the end."""
    from millstream.cli.records.offset_choice import Start

    if bounds.start is not None:
        return bounds
    return replace(bounds, start=Start("stored" if "auto_offset_reset" in settings else "end"))


def _chosen_settings(options: _Options, bounds: Bounds) -> dict[str, object]:
    reset = None if bounds.start is None else {"beginning": "earliest"}.get(bounds.start.kind)
    return {
        "group_id": options.group,
        "group_protocol": options.group_protocol,
        "isolation_level": options.isolation_level,
        "auto_offset_reset": reset,
        "allow_auto_create_topics": False,
    }


def _writer(
    options: _Options,
    formatter: dict[str, str],
    names: list[str],
    pattern: str | None,
) -> tuple[Write, bytes, bytes]:
    """The function that writes a record, and the bytes before the first and behind the last."""
    from millstream.cli.records import text

    output = "jsonl" if options.as_envelopes else options.output
    if options.template is not None:
        return text.formatted(options.template, options.null), b"", b""
    if output == "jsonl":
        return text.json_line, b"", b""
    if output == "json":
        return _array(text.json_line), b"[", b"]\n"
    if output == "table":
        table = text.table(names, more_may_come=pattern is not None)
        return table.row, table.head(), b""
    if formatter:
        return text.console_format(formatter).write, b"", b""
    write = text.plain(options.key_separator, options.delimiter, options.null)
    return text.with_headers(write) if options.headers else write, b"", b""


def _array(write: Write) -> Write:
    """Commas between the elements."""
    separators = iter([b"\n"])

    def element(record: Shown) -> bytes:
        return next(separators, b",") + write(record)

    return element
