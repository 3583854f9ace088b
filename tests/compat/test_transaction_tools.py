"""Kafka's own exactly-once copier runs against us, and its dump-log tool decodes what transactions write: `make oracle`.

The copier is a Java producer of transaction.version 2, with random aborts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
RECORDS = 300
DECODED = re.compile(r"key: (\{.*\}) payload: (.*)$")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


def run_tool(kind: str, *arguments: str) -> str:
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", CLASSPATH, f"org.apache.kafka.tools.{kind}", *arguments],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """What a reader at read_committed finds in the copy, and the directory of the broker that was then stopped."""
    data = tmp_path_factory.mktemp("data")
    with Broker(in_process=False, data=data) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("in")
            client.create_topic("out")
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce("in", str(number).encode(), key=b"k")
        assert producer.flush(LONG_ENOUGH_S) == 0
        run_tool(
            "TransactionalMessageCopier", "--broker-list", broker.bootstrap_servers, "--transactional-id", "copier",
            "--input-topic", "in", "--input-partition", "0", "--output-topic", "out", "--consumer-group", "copiers",
            "--max-messages", str(RECORDS), "--transaction-size", "25", "--enable-random-aborts",
        )  # fmt: skip
        found = read(broker, "out")
    return found, data


def read(broker: Broker, topic: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = []
    while True:
        message = consumer.poll(LONG_ENOUGH_S)
        assert message is not None, "the end is not reached"
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            break
        values.append(message.value().decode())
    consumer.close()
    return values


def test_a_java_producer_copies_exactly_once(copied: tuple[list[str], Path]) -> None:
    assert copied[0] == [str(number) for number in range(RECORDS)]


def test_the_log_of_transactions_is_decoded_by_kafka(copied: tuple[list[str], Path]) -> None:
    """Every transaction runs Ongoing, Prepare, Complete, and the epoch rises with each."""
    files = sorted(
        str(f) for f in copied[1].glob("__transaction_state-*/*.log") if f.stat().st_size
    )
    dumped = run_tool("DumpLogSegments", "--transaction-log-decoder", "--files", ",".join(files))
    records: list[tuple[Any, Any]] = [
        (json.loads(found[1]), json.loads(found[2]))
        for line in dumped.splitlines()
        if (found := DECODED.search(line))
    ]
    assert {key["data"]["transactionalId"] for key, _ in records} == {"copier"}
    assert {value["version"] for _, value in records} == {"1"}
    values = [value["data"] for _, value in records]
    assert (values[0]["transactionStatus"], values[0]["producerEpoch"]) == (0, 0)
    assert values[0]["transactionPartitions"] is None
    ends = [v for v in values if v["transactionStatus"] in {2, 3}]
    completed = [v for v in values if v["transactionStatus"] in {4, 5}]
    assert len(ends) == len(completed) >= RECORDS // 25
    assert [v["producerEpoch"] for v in ends] == list(range(1, len(ends) + 1))
    assert {v["clientTransactionVersion"] for v in ends} == {2}


def test_markers_and_aborted_transactions_are_read_by_kafka(
    copied: tuple[list[str], Path],
) -> None:
    directory = copied[1] / "out-0"
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    files = ",".join(str(path) for path in sorted(directory.iterdir()) if path.suffix in suffixes)
    dumped = run_tool("DumpLogSegments", "--print-data-log", "--files", files)
    assert dumped.count("endTxnMarker: COMMIT") >= RECORDS // 25
    assert "coordinatorEpoch: 0" in dumped
    assert "Found timestamp mismatch" not in dumped
