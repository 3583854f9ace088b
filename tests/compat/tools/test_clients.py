"""Producers and consumers: console, verifiable, performance, latency."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from tests.support.clients.hanging_transaction import leave_hanging


@pytest.fixture
def topic(tool, name) -> str:
    tool("TopicCommand", "--create", "--topic", name, "--partitions", "2")
    return name


def test_the_console_reads_what_it_wrote(tool, topic):
    tool(
        "ConsoleProducer",
        "--topic",
        topic,
        "--reader-property",
        "parse.key=true",
        "--reader-property",
        "key.separator=:",
        text="k:a\nk:b\nl:c\n",
    )
    for protocol in ("classic", "consumer"):
        read = tool(
            "consumer.ConsoleConsumer", "--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "20000",
            "--formatter-property", "print.key=true", "--command-property", f"group.protocol={protocol}",
        )  # fmt: skip
        assert sorted(line for line in read.splitlines() if "\t" in line) == [
            "k\ta",
            "k\tb",
            "l\tc",
        ]
        assert "Processed a total of 3 messages" in read


def test_the_console_shares_records(tool, topic, name):
    tool(
        "kafka.admin.ConfigCommand",
        "--alter",
        "--group",
        name,
        "--add-config",
        "share.auto.offset.reset=earliest",
    )
    tool("ConsoleProducer", "--topic", topic, text="a\nb\nc\n")
    read = tool(
        "consumer.ConsoleShareConsumer",
        "--topic",
        topic,
        "--group",
        name,
        "--max-messages",
        "3",
        "--timeout-ms",
        "20000",
    )
    assert {"a", "b", "c"} <= set(read.splitlines())


def test_the_verifiable_clients_agree(tool, topic, name):
    produced = [
        json.loads(line)
        for line in tool(
            "VerifiableProducer", "--topic", topic, "--max-messages", "200", "--throughput", "-1"
        ).splitlines()
        if line.startswith("{")
    ]
    assert [event["sent"] for event in produced if event["name"] == "tool_data"] == [200]
    for protocol in ("classic", "consumer"):
        lines = tool(
            "VerifiableConsumer",
            "--topic",
            topic,
            "--group-id",
            f"{name}-{protocol}",
            "--max-messages",
            "200",
            "--reset-policy",
            "earliest",
            "--group-protocol",
            protocol,
        ).splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 200
        commits = [event["success"] for event in events if event["name"] == "offsets_committed"]
        assert commits
        assert all(commits)


def test_the_performance_tools_measure(tool, topic, broker):
    producer = tool(
        "ProducerPerformance",
        "--topic",
        topic,
        "--num-records",
        "20000",
        "--record-size",
        "100",
        "--throughput",
        "-1",
    )
    assert "20000 records sent" in producer
    consumer = tool(
        "ConsumerPerformance",
        "--topic",
        topic,
        "--num-records",
        "20000",
        "--timeout",
        "20000",
        "--hide-header",
    )
    assert ", 20000, " in consumer
    latency = tool(
        "EndToEndLatency", broker.bootstrap_servers, topic, "50", "all", "20", bootstrap=""
    )
    assert "Avg latency" in latency


def test_transactions_are_produced_and_described(tool, topic, name):
    sent = tool(
        "ProducerPerformance",
        "--topic",
        topic,
        "--num-records",
        "3000",
        "--record-size",
        "100",
        "--throughput",
        "1000",
        "--transactional-id",
        name,
        "--transaction-duration-ms",
        "300",
    )
    assert "3000 records sent" in sent
    command = "TransactionsCommand"
    listed = tool(command, "list")
    assert name in listed
    assert "CompleteCommit" in tool(command, "describe", "--transactional-id", name)
    assert "ProducerId" in tool(command, "describe-producers", "--topic", topic, "--partition", "0")
    assert tool(command, "find-hanging", "--broker-id", "1").splitlines()[0].startswith("Topic")
    read = tool(
        "consumer.ConsoleConsumer",
        "--topic",
        topic,
        "--from-beginning",
        "--max-messages",
        "3000",
        "--timeout-ms",
        "20000",
        "--isolation-level",
        "read_committed",
    )
    assert "Processed a total of 3000 messages" in read


def test_a_transaction_that_hangs_is_found_and_ended_as_by_our_own_verb(tool, topic, name, broker):
    """The one that Kafka's tool has ended, `millstream transactions` finds no more, and the other way round."""
    tool(
        "kafka.admin.ConfigCommand", "--alter", "--entity-type", "brokers", "--entity-default",
        "--add-config", "transaction.partition.verification.enable=false",
    )  # fmt: skip
    settings = {"MILLSTREAM_BOOTSTRAP_SERVERS": broker.bootstrap_servers}

    def verb(*arguments: str) -> str:
        done = CliRunner(env=settings).invoke(main, ["transactions", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    for number in range(2):
        leave_hanging(broker.bootstrap_servers, topic, f"{name}-{number}", age_ms=3_600_000)
        (of_kafka,) = tool("TransactionsCommand", "find-hanging", "--topic", topic).splitlines()[1:]
        (ours,) = json.loads(verb("find-hanging", topic, "--output", "json"))
        found, epoch, coordinator_epoch, start, last = (int(each) for each in of_kafka.split()[2:7])
        assert (found, epoch, start, last) == (ours["producer_id"], ours["producer_epoch"], ours["start_offset"], ours["last_timestamp_ms"])  # fmt: skip
        assert (coordinator_epoch, ours["coordinator_epoch"]) == (-1, None)
        assert int(of_kafka.split()[7]) == ours["open_ms"] // 60_000 == 60
        if number == 0:
            tool("TransactionsCommand", "abort", "--topic", topic, "--partition", "0", "--start-offset", str(start))  # fmt: skip
            assert verb("find-hanging", topic) == ""
        else:
            verb("abort-hanging", topic, "--yes")
            assert tool("TransactionsCommand", "find-hanging", "--topic", topic).splitlines()[1:] == []  # fmt: skip
