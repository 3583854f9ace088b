"""Topics, offsets, log directories, reassignments, elections."""

from __future__ import annotations

import json


def test_topics_are_created_described_altered_and_deleted(tool, name):
    assert f"Created topic {name}." in tool(
        "TopicCommand",
        "--create",
        "--topic",
        name,
        "--partitions",
        "3",
        "--config",
        "retention.ms=5000",
    )
    described = tool("TopicCommand", "--describe", "--topic", name)
    assert "PartitionCount: 3\tReplicationFactor: 1" in described
    assert "retention.ms=5000" in described
    assert "Partition: 2\tLeader: 1\tReplicas: 1\tIsr: 1" in described
    tool("TopicCommand", "--alter", "--topic", name, "--partitions", "5")
    assert name in tool("TopicCommand", "--list").splitlines()
    assert (
        tool("TopicCommand", "--describe", "--topic", name, "--under-replicated-partitions").strip()
        == ""
    )
    assert "already exists" in tool("TopicCommand", "--create", "--topic", name, fails=True)
    tool("TopicCommand", "--delete", "--topic", name)
    assert name not in tool("TopicCommand", "--list").splitlines()
    assert "does not exist as expected" in tool(
        "TopicCommand", "--describe", "--topic", name, fails=True
    )


def test_offsets_are_told_and_records_deleted(tool, name, tmp_path):
    tool("TopicCommand", "--create", "--topic", name, "--partitions", "2")
    tool("ConsoleProducer", "--topic", name, text="a\nb\nc\n")
    ends = tool("GetOffsetShell", "--topic", name)
    assert sum(int(line.split(":")[2]) for line in ends.splitlines()) == 3
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps(
            {
                "partitions": [{"topic": name, "partition": p, "offset": -1} for p in (0, 1)],
                "version": 1,
            }
        )
    )
    assert "low_watermark" in tool("DeleteRecordsCommand", "--offset-json-file", str(plan))
    assert tool("GetOffsetShell", "--topic", name, "--time", "-2") == ends


def test_log_directories_are_described(tool, name):
    tool("TopicCommand", "--create", "--topic", name)
    described = tool("LogDirsCommand", "--describe", "--topic-list", name)
    found = json.loads(described[described.index("{") :].splitlines()[0])
    partitions = [
        p for directory in found["brokers"][0]["logDirs"] for p in directory["partitions"]
    ]
    assert [(p["partition"], p["offsetLag"], p["isFuture"]) for p in partitions] == [
        (f"{name}-0", 0, False)
    ]


def test_partitions_are_reassigned_to_where_they_are(tool, name, tmp_path):
    tool("TopicCommand", "--create", "--topic", name)
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "replicas": [1]}]})
    )
    command = "reassign.ReassignPartitionsCommand"
    assert "Successfully started partition reassignment" in tool(
        command, "--reassignment-json-file", str(plan), "--execute"
    )
    assert f"Reassignment of partition {name}-0 is completed." in tool(
        command, "--reassignment-json-file", str(plan), "--verify"
    )
    assert "No partition reassignments found." in tool(command, "--list")
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    assert f'"topic":"{name}","partition":0,"replicas":[1]' in tool(
        command, "--topics-to-move-json-file", str(topics), "--broker-list", "1", "--generate"
    )


def test_leaders_are_elected(tool, name):
    tool("TopicCommand", "--create", "--topic", name)
    told = tool(
        "LeaderElectionCommand", "--election-type", "preferred", "--topic", name, "--partition", "0"
    )
    assert "Valid replica already elected for partitions" in told
