"""Groups of every kind, and what resets them."""

from __future__ import annotations

import pytest


@pytest.fixture
def consumed(tool, name) -> str:
    """A topic of three records, and a group of the same name that has read them."""
    tool("TopicCommand", "--create", "--topic", name)
    tool("ConsoleProducer", "--topic", name, text="a\nb\nc\n")
    tool(
        "consumer.ConsoleConsumer",
        "--topic",
        name,
        "--group",
        name,
        "--from-beginning",
        "--max-messages",
        "3",
        "--timeout-ms",
        "20000",
    )
    return name


GROUPS = "consumer.group.ConsumerGroupCommand"


def test_consumer_groups_are_described_reset_and_deleted(tool, consumed):
    assert consumed in tool(GROUPS, "--list").splitlines()
    row = next(
        line.split()
        for line in tool(GROUPS, "--describe", "--group", consumed).splitlines()
        if line.startswith(consumed)
    )
    assert row[1:6] == [consumed, "0", "3", "3", "0"]
    assert "Empty" in tool(GROUPS, "--describe", "--group", consumed, "--state")
    assert "has no active members" in tool(GROUPS, "--describe", "--group", consumed, "--members")
    reset = tool(
        GROUPS,
        "--reset-offsets",
        "--group",
        consumed,
        "--topic",
        consumed,
        "--to-earliest",
        "--execute",
    )
    assert reset.splitlines()[-1].split() == [consumed, consumed, "0", "0"]
    assert "Successful" in tool(
        GROUPS, "--delete-offsets", "--group", consumed, "--topic", consumed
    )
    assert f"Deletion of requested consumer groups ('{consumed}') was successful." in tool(
        GROUPS, "--delete", "--group", consumed
    )
    assert "not found" in tool(GROUPS, "--describe", "--group", consumed)


def test_groups_of_every_kind_are_listed(tool, consumed):
    listed = tool("GroupsCommand", "--list")
    row = next(line.split() for line in listed.splitlines() if line.startswith(consumed))
    assert row == [consumed, "Classic", "consumer"]


def test_share_groups_are_described_reset_and_deleted(tool, consumed):
    group = f"s{consumed}"
    tool(
        "kafka.admin.ConfigCommand",
        "--alter",
        "--group",
        group,
        "--add-config",
        "share.auto.offset.reset=earliest",
    )
    tool(
        "consumer.ConsoleShareConsumer",
        "--topic",
        consumed,
        "--group",
        group,
        "--max-messages",
        "3",
        "--timeout-ms",
        "20000",
    )
    share = "consumer.group.ShareGroupCommand"
    assert group in tool(share, "--list").splitlines()
    assert consumed in tool(share, "--describe", "--group", group)
    assert "Empty" in tool(share, "--describe", "--group", group, "--state")
    assert consumed in tool(
        share,
        "--reset-offsets",
        "--group",
        group,
        "--topic",
        consumed,
        "--to-earliest",
        "--execute",
    )
    assert "successful" in tool(share, "--delete", "--group", group)


def test_streams_groups_are_listed_and_the_resetter_runs(tool, consumed):
    assert tool("streams.StreamsGroupCommand", "--list").strip() == ""
    told = tool(
        "StreamsResetter",
        "--application-id",
        consumed,
        "--input-topics",
        consumed,
        "--to-earliest",
        "--force",
    )
    assert "Done." in told or consumed in told
