"""Producers and consumers: console, verifiable, performance, latency."""

from __future__ import annotations

import json

import pytest


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
