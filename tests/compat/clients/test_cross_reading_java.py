"""Java's console clients read what ours write, and ours read theirs: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess

import pytest

from millstream.clients import Consumer, Producer
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_MS

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
LIMIT_S = 100
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def console(main: str, broker: Broker, *arguments: str, text: str | None = None) -> str:
    done = subprocess.run(
        [
            "java",
            "-cp",
            CLASSPATH,
            f"org.apache.kafka.tools.{main}",
            "--bootstrap-server",
            broker.bootstrap_servers,
            *arguments,
        ],
        input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_the_console_consumer_reads_every_codec_of_ours_and_no_aborted_record(
    shared_broker: Broker, topic: str
) -> None:
    expected = []
    for number, codec in enumerate(CODECS):
        async with Producer(
            bootstrap_servers=shared_broker.bootstrap_servers,
            compression_type=codec,
            transactional_id=topic,
        ) as producer:
            await producer.init_transactions()
            for outcome in ("aborted", "committed"):
                await producer.begin_transaction()
                await producer.send(
                    topic,
                    f"{codec} {outcome}".encode() * 100,
                    key=b"k" if number else None,
                    headers=[("a", b"1"), ("b", None)],
                    timestamp_ms=number,
                )
                if outcome == "aborted":
                    await producer.flush()
                    await producer.abort_transaction()
                else:
                    await producer.commit_transaction()
        key = "k" if number else "null"
        expected.append(f"CreateTime:{number}\ta:1,b:null\t{key}\t" + f"{codec} committed" * 100)
    read = await asyncio.to_thread(
        console, "consumer.ConsoleConsumer", shared_broker, "--topic", topic, "--from-beginning",
        "--max-messages", str(len(CODECS)), "--isolation-level", "read_committed",
        "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true",
        "--formatter-property", "print.timestamp=true",
    )  # fmt: skip
    assert read.splitlines() == expected


@pytest.mark.parametrize("codec", CODECS)
async def test_we_read_what_the_console_producer_writes(
    shared_broker: Broker, topic: str, codec: str
) -> None:
    lines = [f"h:{n}\tkey {n}\tvalue {n}" for n in range(100)]
    await asyncio.to_thread(
        console, "ConsoleProducer", shared_broker, "--topic", topic, "--compression-codec", codec,
        "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true",
        text="\n".join(lines) + "\n",
    )  # fmt: skip
    records = []
    async with (
        asyncio.timeout(LIMIT_S),
        Consumer(
            bootstrap_servers=shared_broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer,
    ):
        consumer.assign([(topic, 0)])
        while len(records) < len(lines):
            records += await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
    assert [(r.key, r.value, list(r.headers)) for r in records] == [
        (b"key %d" % n, b"value %d" % n, [("h", b"%d" % n)]) for n in range(100)
    ]
