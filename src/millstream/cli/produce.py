"""`millstream produce TOPIC`: lines of standard input or of files become records. In kcat's spirit."""

from __future__ import annotations

import io
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import click

from millstream.cli.arguments import ANY_BYTES, as_text, typed_bytes
from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    admin_beside,
    check_reachable,
    cluster_options,
    kafka_options,
    pairs,
)
from millstream.cli.command import ClientCommand, leaving_soon
from millstream.cli.completion.names import topic_names, topic_then_files
from millstream.cli.near_names import topics_not_there
from millstream.cli.progress import at_terminal
from millstream.cli.records.value_formats import FORMATS, WINDOWED, FindRegistry, format_of
from millstream.errors import RequestTimedOut, UnknownTopicOrPartition

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from millstream.cli.records.lines import Headers, Line, Parse
    from millstream.cli.records.sending import Convert, Placed

_READER_PREFIXES = ("parse.", "key.separator", "headers.", "null.marker", "ignore.error")
_SIGNAL_CHECK_S: Final = 0.2
"""So late Ctrl-C is heeded while nothing comes on standard input."""
_BUFFER_BYTES: Final = 65_536
"""What a pipe of Linux holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options and arguments, by the names that click gives them."""

    topic: str | None
    key: str | None
    key_separator: str | None
    delimiter: str
    headers: tuple[str, ...]
    partition: int | None
    compression: str | None
    null: str | None
    empty_is_null: bool
    input_format: str
    keep_partitions: bool
    acks: str | None
    transactional_id: str | None
    every: int | None
    properties: tuple[str, ...]
    key_format: str
    value_format: str
    key_schema: str | None
    value_schema: str | None
    schema_registry: str | None
    quiet: bool
    sync: bool


def _format(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    return None if name is None else format_of(name)


@click.command(cls=ClientCommand)
@click.argument("arguments", nargs=-1, metavar="TOPIC [FILE]...", shell_complete=topic_then_files)
@cluster_options
@click.option("--topic", "-t", help="Same as the argument.", shell_complete=topic_names)
@click.option("--key", "-k", type=ANY_BYTES, help="The key of every record.")
@click.option(
    "--key-separator", "-K", type=ANY_BYTES, metavar="TEXT",
    help="Ends the key in each line; the value follows it.",
)  # fmt: skip
@click.option(
    "--delimiter", "-D", type=ANY_BYTES, default="\\n", show_default=True,
    help="Ends a record; escapes such as \\x00 are understood.",
)  # fmt: skip
@click.option(
    "--header",
    "-H",
    "headers",
    type=ANY_BYTES,
    multiple=True,
    metavar="NAME=VALUE",
    help="A header of every record; may be repeated.",
)
@click.option(
    "--partition",
    "-p",
    type=int,
    help="Write to this partition. Default: the key decides, or the producer if there is no key.",
)
@click.option(
    "--compression", "--compression-codec", "--compression-type", "-z",
    help="Compress with gzip, snappy, lz4 or zstd, or none.",
)  # fmt: skip
@click.option(
    "--null", type=ANY_BYTES, metavar="TEXT", help="A key or value equal to this text becomes null."
)
@click.option("-Z", "empty_is_null", is_flag=True, help="An empty key or value becomes null.")
@click.option(
    "--input", "input_format", type=click.Choice(["lines", "jsonl"]), default="lines",
    show_default=True, help="lines: each line is a value. jsonl: each line is a record as `consume --output jsonl` writes it.",
)  # fmt: skip
@click.option(
    "--keep-partitions",
    is_flag=True,
    help="With jsonl: write each record to the partition that its line names.",
)
@click.option(
    "--acks",
    "--request-required-acks",
    help="Who must have a record before it counts as written: all, 1 or 0.",
)
@click.option("--transactional-id", metavar="ID", help="Write in transactions with this id.")
@click.option(
    "--every", type=click.IntRange(1), help="Records in one transaction. Default: all in one."
)
@click.option(
    "--property", "--reader-property", "properties", type=ANY_BYTES, multiple=True, metavar="KEY=VALUE",
    help="A property of Kafka's reader (parse.key, key.separator, null.marker, ...), else a setting of the client.",
)  # fmt: skip
@click.option(
    "--key-format", default="string", callback=_format, show_default=True, metavar="|".join((*FORMATS, *WINDOWED)),
    help="What the text of a key becomes.",
)  # fmt: skip
@click.option(
    "--value-format", default="string", callback=_format, show_default=True, metavar="FORMAT",
    help="What the text of a value becomes; formats as for --key-format.",
)  # fmt: skip
@click.option(
    "--key-schema",
    metavar="TEXT|@FILE",
    help="Schema to write with. Default: the latest one in the registry.",
)
@click.option(
    "--value-schema",
    metavar="TEXT|@FILE",
    help="Schema to write with. Default: the latest one in the registry.",
)
@click.option(
    "--schema-registry",
    metavar="URL",
    help="Address of the schema registry, for the formats avro and json-schema.",
)
@click.option("--quiet", "-q", is_flag=True, help="Do not print the number of records.")
@click.option(
    "--sync", is_flag=True, help="Wait until a record is written before the next is sent."
)
@kafka_options(
    {
        "--batch-size": "batch.size",
        "--max-block-ms": "max.block.ms",
        "--max-memory-bytes": "buffer.memory",
        "--max-partition-memory-bytes": "batch.size",
        "--message-send-max-retries": "retries",
        "--metadata-expiry-ms": "metadata.max.age.ms",
        "--request-timeout-ms": "request.timeout.ms",
        "--retry-backoff-ms": "retry.backoff.ms",
        "--socket-buffer-size": "send.buffer.bytes",
        "--timeout": "linger.ms",
    }
)
def produce(arguments: tuple[str, ...], *, cluster: ClusterOptions, **given: Given) -> None:
    """Write each line of standard input or of the FILEs as a record to TOPIC.

    It ends when all records are written, and prints on standard error how many brokers have acknowledged.
    """
    from millstream.cli.records.sending import RecordSender, told_on_the_way
    from millstream.clients.blocking import Producer
    from millstream.clients.config import ProducerConfig

    options = _Options(**given)
    topic, files = _topic_and_files(arguments, options.topic)
    properties = pairs(options.properties, "--property")
    reader = {key: value for key, value in properties.items() if key.startswith(_READER_PREFIXES)}
    cluster = cluster.adding({key: properties[key] for key in properties if key not in reader})
    parse = _parser(options, reader)
    convert = _converter(options, partial(cluster.registry, options.schema_registry))
    chosen = {
        "compression_type": options.compression,
        "acks": options.acks,
        "transactional_id": options.transactional_id,
    }
    settings = cluster.settings(ProducerConfig, **chosen)
    if options.acks in {"0", "1"}:
        # As Java's producer, which is idempotent only where nothing else is said.
        settings.setdefault("enable_idempotence", False)
    sender: RecordSender | None = None
    is_interrupted = False
    types = not files and sys.stdin.isatty()  # lines would stand between what is typed
    progress = at_terminal(_now_ms, quiet=options.quiet or types)
    try:
        with Producer(**settings) as producer, leaving_soon(producer):
            check_reachable(settings)
            sender = RecordSender(
                producer,
                topic,
                convert,
                partition=options.partition,
                waits=options.sync,
                is_acknowledged=str(settings.get("acks")) != "0",
            )
            records = told_on_the_way(_lines(files, options.delimiter, parse), progress)
            if options.transactional_id is None:
                sender.write(records)
            else:
                sender.write_in_transactions(records, options.every)
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    except RequestTimedOut as error:
        with admin_beside(settings) as admin:
            for sentence in topics_not_there(admin, [topic]):
                raise UnknownTopicOrPartition(sentence) from error
        raise
    finally:
        progress.clear()
        if sender is not None and not options.quiet:
            click.echo(sender.summary(is_interrupted=is_interrupted), err=True)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _topic_and_files(arguments: tuple[str, ...], topic: str | None) -> tuple[str, tuple[str, ...]]:
    if topic is not None:
        return topic, arguments
    if not arguments:
        raise click.UsageError("give a TOPIC")
    return arguments[0], arguments[1:]


def _lines(files: tuple[str, ...], delimiter: str, parse: Parse) -> Iterator[Placed]:
    from millstream.cli.records.sending import STANDARD_INPUT, placed
    from millstream.cli.records.text import unescaped

    end = unescaped(delimiter)
    if not end:
        raise click.UsageError("--delimiter must not be empty")
    for name in files or (STANDARD_INPUT,):
        source: IO[bytes]
        with click.open_file(name, "rb") as source:
            yield from placed(name, polled_input(source), end, parse)


def _parser(options: _Options, reader: dict[str, str]) -> Parse:
    from millstream.cli.records.lines import line_format, parse_envelope
    from millstream.cli.records.text import unescaped

    if options.input_format == "jsonl":
        return partial(parse_envelope, keeps_partition=options.keep_partitions)
    separator = options.key_separator
    parse = line_format(
        reader,
        None if separator is None else unescaped(separator),
        "" if options.empty_is_null else options.null,
    ).parse
    key = None if options.key is None else typed_bytes(options.key)
    headers: Headers = [
        (as_text(name, "a header's name"), typed_bytes(value))
        for name, value in pairs(options.headers, "-H").items()
    ]
    if key is None and not headers:
        return parse

    def with_constants(line: bytes) -> Line:
        parsed = parse(line)
        return parsed._replace(
            key=key if parsed.key is None else parsed.key,
            headers=[*headers, *(parsed.headers or ())] or None,
        )

    return with_constants


def _converter(options: _Options, registry: FindRegistry) -> Convert | None:
    """Typed text to bytes; None where both are text already."""
    if options.key_format == options.value_format == "string":
        return None
    from millstream.cli.records.value_formats import writer

    write_key = writer(options.key_format, options.key_schema, registry, is_key=True)
    write_value = writer(options.value_format, options.value_schema, registry, is_key=False)

    def convert(topic: str, line: Line) -> Line:
        headers = line.headers or []
        return line._replace(
            key=None if line.key is None else write_key(topic, line.key, headers),
            value=None if line.value is None else write_value(topic, line.value, headers),
            headers=headers or None,
        )

    return convert


def polled_input(source: IO[bytes]) -> IO[bytes]:
    """Returns the same bytes, from a terminal or a pipe whose reads a signal ends.

    Other sources are given back as they are.

    Python handles a signal between two instructions. One that arrives when a read is about to wait, or in
    another thread, is noted but does not end the wait: Ctrl-C would take effect with the next input only. So
    the wait ends now and then.
    """
    raw = getattr(source, "raw", None)
    if not isinstance(raw, io.FileIO):
        return source
    return io.BufferedReader(_PolledInput(raw), _BUFFER_BYTES)


class _PolledInput(io.RawIOBase):
    def __init__(self, source: io.FileIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        while not select.select([self._source], [], [], _SIGNAL_CHECK_S)[0]:
            pass
        return self._source.readinto(buffer)
