"""`millstream perf produce`: sends records as fast as asked for, and times each until it is acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from millstream.cli.arguments import ANY_BYTES
from millstream.cli.cluster_options import (
    ClusterOptions,
    Given,
    check_reachable,
    cluster_options,
    pairs,
)
from millstream.cli.command import ClientCommand, leaving_soon
from millstream.cli.completion.names import topic_names
from millstream.cli.perf.statistics import Sent
from millstream.cli.rows import for_people, output_option
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients import RecordMetadata
    from millstream.clients.blocking import Producer

_PAYLOADS = 256
"""As many different ones, so that compression has something to do and making them costs nothing."""
_LETTERS = bytes(65 + byte % 26 for byte in range(256))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options and arguments, by the names that click gives them."""

    named: str | None
    count: int
    size: int
    throughput: float
    payload_file: str | None
    payload_delimiter: str
    props: tuple[str, ...]
    acks: str | None
    compression: str | None
    transactional_id: str | None
    transaction_duration_ms: int
    warmup_records: int
    interval_ms: int
    output: str


@click.command(cls=ClientCommand)
@click.argument("topic", required=False, shell_complete=topic_names)
@cluster_options
@click.option("--topic", "-t", "named", help="Same as the argument.", shell_complete=topic_names)
@click.option(
    "--num-records",
    "-n",
    "-c",
    "count",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Number of records.",
)
@click.option(
    "--record-size",
    "-s",
    "size",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Size of each value in bytes.",
)
@click.option(
    "--throughput",
    type=float,
    default=-1,
    help="Most records per second. -1: no limit.  [default: -1]",
)
@click.option(
    "--payload-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Send the values in this file, again and again, instead of random ones.",
)
@click.option(
    "--payload-delimiter",
    type=ANY_BYTES,
    default="\\n",
    show_default=True,
    help="Ends each value in --payload-file.",
)
@click.option("--producer-props", "props", multiple=True, metavar="KEY=VALUE", help="Same as -X.")
@click.option("--acks", help="Who must have a record before it counts as written: all, 1 or 0.")
@click.option("--compression", "-z", help="Compress with gzip, snappy, lz4 or zstd, or none.")
@click.option("--transactional-id", metavar="ID", help="Send in transactions with this id.")
@click.option(
    "--transaction-duration-ms",
    type=click.IntRange(1),
    default=3_000,
    show_default=True,
    help="Commit and begin a new transaction after this time.",
)
@click.option(
    "--warmup-records",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Send this many records first, which are not measured.",
)
@click.option(
    "--reporting-interval",
    "interval_ms",
    type=click.IntRange(1),
    default=5_000,
    show_default=True,
    help="Milliseconds between two reports.",
)
@output_option
def produce(topic: str | None, *, cluster: ClusterOptions, **given: Given) -> None:
    """Send records to TOPIC and measure how long each takes."""
    from millstream.clients.blocking import Producer
    from millstream.clients.config import ProducerConfig

    options = _Options(**given)
    topic = topic or options.named
    if topic is None:
        raise click.UsageError("give a TOPIC")
    settings = cluster.adding(pairs(options.props, "--producer-props")).settings(
        ProducerConfig,
        acks=options.acks,
        compression_type=options.compression,
        transactional_id=options.transactional_id,
    )
    with Producer(**settings) as producer, leaving_soon(producer):
        run = _Run(producer, topic, options)
        check_reachable(settings)
        if options.transactional_id is not None:
            producer.init_transactions()
        try:
            if options.warmup_records:
                run.send(options.warmup_records)
            run.send(options.count)
        except KeyboardInterrupt:
            run.ended_ms = _now_ms()
            told = (
                f"interrupted: {run.sent.count} of {counted(options.count, 'record')} acknowledged"
            )
            click.echo(told, err=True)
            _print(run, options.output)
            raise
    _print(run, options.output)


def _print(run: _Run, output: str) -> None:
    if for_people(output):
        click.echo(run.sent.summary(run.ended_ms))
    else:
        import orjson

        click.echo(orjson.dumps(run.sent.members(run.ended_ms)))


def _now_ms() -> float:
    return perf_counter() * 1000


def _payloads(options: _Options) -> Iterator[bytes]:
    from millstream.cli.records.lines import split
    from millstream.cli.records.text import unescaped
    from millstream.runtime.system import SystemRandom

    if options.payload_file is not None:
        delimiter = unescaped(options.payload_delimiter)
        if not delimiter:
            raise click.UsageError("--payload-delimiter must not be empty")
        with Path(options.payload_file).open("rb") as file:
            values = list(split(file, delimiter))
        if not values:
            raise click.UsageError(f"{options.payload_file} is empty")
        return cycle(values)
    random = SystemRandom()
    return cycle([random.randbytes(options.size).translate(_LETTERS) for _ in range(_PAYLOADS)])


class _Run:
    """Sends, waits where it is too fast, reports. Acknowledgements come on the clients' thread."""

    def __init__(self, producer: Producer, topic: str, options: _Options) -> None:
        self._producer = producer
        self._topic = topic
        self._payloads = _payloads(options)
        self._per_ms = options.throughput / 1000
        self._interval_ms: int = options.interval_ms
        self._transaction_ms: int | None = (
            None if options.transactional_id is None else options.transaction_duration_ms
        )
        self._pause = threading.Event()
        self.sent = self._window = Sent(0)
        self.ended_ms = 0.0

    def send(self, count: int) -> None:
        """Counts from here on; ends when all are acknowledged. Raises the first error of a record."""
        started_ms = _now_ms()
        self.sent, self._window = Sent(started_ms), Sent(started_ms)
        begun_ms = self._begin(started_ms)
        producer_send, topic, acknowledged = self._producer.send, self._topic, self._on_delivery
        for number, payload in enumerate(islice(self._payloads, count)):
            now_ms = _now_ms()
            if self._per_ms > 0 and (early_ms := started_ms + number / self._per_ms - now_ms) > 0:
                self._pause.wait(early_ms / 1000)
                now_ms = _now_ms()
            producer_send(topic, payload, on_delivery=partial(acknowledged, now_ms, len(payload)))
            if self._transaction_ms is not None and now_ms - begun_ms >= self._transaction_ms:
                self._producer.commit_transaction()
                begun_ms = self._begin(now_ms)
            if now_ms - self._window.started_ms >= self._interval_ms:
                self._report(now_ms)
        if self._transaction_ms is not None:
            self._producer.commit_transaction()
        self._producer.flush()
        self.ended_ms = _now_ms()

    def _begin(self, now_ms: float) -> float:
        if self._transaction_ms is not None:
            self._producer.begin_transaction()
        return now_ms

    def _on_delivery(
        self, sent_ms: float, size: int, _metadata: RecordMetadata, error: Exception | None
    ) -> None:
        if error is not None:
            self.sent.failed += 1
            return
        latency_ms = _now_ms() - sent_ms
        self.sent.add(size, latency_ms)
        self._window.add(size, latency_ms)

    def _report(self, now_ms: float) -> None:
        window, self._window = self._window, Sent(now_ms)
        click.echo(window.line(now_ms), err=True)
