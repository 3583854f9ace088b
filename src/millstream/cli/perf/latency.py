"""`millstream perf latency`: one record at a time, from send() to poll(), as kafka-e2e-latency measures it."""

from __future__ import annotations

import signal
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import (
    ClusterOptions,
    Settings,
    check_reachable,
    cluster_options,
)
from millstream.cli.command import ClientCommand, TerminationRequested
from millstream.cli.completion.names import topic_names
from millstream.cli.perf.statistics import Latencies
from millstream.cli.rows import for_people, output_option
from millstream.errors import RequestTimedOut
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.clients import Consumer, Producer

_TIMEOUT_MS: Final = 60_000
"""POLL_TIMEOUT_MS of kafka-e2e-latency.sh (EndToEndLatency)."""
_REPORTED_EVERY: Final = 1_000
"""Records, as there."""


@click.command(cls=ClientCommand)
@click.argument("topic", required=False, shell_complete=topic_names)
@cluster_options
@click.option("--topic", "-t", "named", help="Same as the argument.", shell_complete=topic_names)
@click.option(
    "--num-records",
    "--num-messages",
    "-n",
    "-c",
    "count",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Number of records.",
)
@click.option(
    "--record-size",
    "-s",
    "size",
    type=click.IntRange(8),
    default=100,
    show_default=True,
    help="Size of each value in bytes.",
)
@click.option(
    "--acks",
    "--producer-acks",
    type=click.Choice(["1", "all"]),
    default="all",
    show_default=True,
    help="Who must have a record before it counts as written.",
)
@output_option
def latency(
    topic: str | None,
    *,
    cluster: ClusterOptions,
    named: str | None,
    count: int,
    size: int,
    acks: str,
    output: str,
) -> None:
    """Send a record to TOPIC, wait until it is read, then send the next.

    No other producer may write to TOPIC meanwhile.
    """
    import asyncio

    from millstream.clients.config import ConsumerConfig, ProducerConfig
    from millstream.clients.config.settings import parse_settings

    topic = topic or named
    if topic is None:
        raise click.UsageError("give a TOPIC")
    producing = cluster.settings(
        ProducerConfig,
        ConsumerConfig,
        acks=acks,
        linger_ms=0,
        enable_idempotence=acks == "all",
    )
    consuming = cluster.settings(
        ConsumerConfig,
        ProducerConfig,
        fetch_max_wait_ms=_TIMEOUT_MS // 2,
        request_timeout_ms=_TIMEOUT_MS,
    )
    parse_settings(ProducerConfig, producing)  # before anybody is asked
    parse_settings(ConsumerConfig, consuming)
    check_reachable(producing)
    latencies = Latencies()
    try:
        asyncio.run(
            _measure(
                topic,
                producing=producing,
                consuming=consuming,
                count=count,
                size=size,
                latencies=latencies,
            )
        )
    except (KeyboardInterrupt, asyncio.CancelledError) as interruption:
        click.echo(
            f"interrupted: {latencies.count} of {counted(count, 'record')} measured", err=True
        )
        _print(latencies, output)
        if isinstance(interruption, asyncio.CancelledError):
            raise TerminationRequested from interruption
        raise
    _print(latencies, output)


def _print(latencies: Latencies, output: str) -> None:
    p50, p99, p999 = latencies.percentiles(0.5, 0.99, 0.999)
    if for_people(output):
        click.echo(f"Avg latency: {latencies.average_ms:.4f} ms")
        click.echo(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")
        return
    import orjson

    told = {
        "records": latencies.count,
        "latency_ms": {
            "average": round(latencies.average_ms, 4), "maximum": round(latencies.max_ms, 4),
            "p50": p50, "p99": p99, "p99.9": p999,
        },
    }  # fmt: skip
    click.echo(orjson.dumps(told))


async def _measure(
    topic: str,
    *,
    producing: Settings,
    consuming: Settings,
    count: int,
    size: int,
    latencies: Latencies,
) -> None:
    import asyncio

    from millstream.clients import Consumer, Producer
    from millstream.model import TopicPartition
    from millstream.runtime.system import SystemRandom

    random, this_task = SystemRandom(), asyncio.current_task()
    assert this_task is not None, "coroutines run in tasks"
    # Raised by a handler of Python, the end would hit whichever task runs at the moment.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_task.cancel)
    async with Producer(**producing) as producer, Consumer(**consuming) as consumer:
        partitions = [TopicPartition(topic, n) for n in await producer.partitions_for(topic)]
        consumer.assign(partitions)
        for partition, end in (await consumer.end_offsets(partitions)).items():
            consumer.seek(partition, end)
        for number in range(count):
            value = random.randbytes(size)
            begun = perf_counter()
            await _send_and_receive(producer, consumer, topic, value)
            latency_ms = (perf_counter() - begun) * 1000
            latencies.add(latency_ms)
            if number % _REPORTED_EVERY == 0:
                click.echo(f"{number}\t{latency_ms:.4f}", err=True)


async def _send_and_receive(
    producer: Producer, consumer: Consumer, topic: str, value: bytes
) -> None:
    """Raises RequestTimedOut where nothing comes, and ClickException where something else does."""
    await (await producer.send(topic, value))
    records = await consumer.poll(timeout_ms=_TIMEOUT_MS)
    if not records:
        raise RequestTimedOut(f"the record was not read within {_TIMEOUT_MS} ms")
    if [record.value for record in records] != [value]:
        raise click.ClickException(
            f"{topic} has records of other producers; use a topic of its own"
        )
