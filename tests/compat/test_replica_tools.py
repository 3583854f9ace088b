"""Kafka's tools for replicas, unmodified, and ours against three of our nodes: each takes the files of the other, and both say the same.

`make oracle` with MILLSTREAM_KAFKA_CLASSPATH set. Whether a move has ended already is nobody's business here: it is called off, or done.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.testing.cluster import Cluster
from tests.compat.test_cluster_tools import CLASSPATH, TOOLS, tool

REASSIGN = f"{TOOLS}.reassign.ReassignPartitionsCommand"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("MILLSTREAM_KAFKA_CLASSPATH"),
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    assert CLASSPATH
    with Cluster(nodes=3) as cluster:
        ours(cluster.bootstrap_servers, "topics", "create", "t", "--partitions", "3", "--replication-factor", "2")  # fmt: skip
        yield cluster.bootstrap_servers


def ours(bootstrap: str, *words: str) -> Result:
    result = CliRunner().invoke(main, [*words, "-b", bootstrap])
    assert result.exit_code in (0, 1), result.output
    return result


def partitions(text: str) -> dict[int, list[int]]:
    return {each["partition"]: each["replicas"] for each in json.loads(text)["partitions"]}


def test_kafkas_tool_carries_out_our_plan(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "ours.json"
    file.write_text(
        ours(bootstrap, "cluster", "reassign", "plan", "t", "--replication-factor", "3").stdout
    )
    assert all(sorted(each) == [1, 2, 3] for each in partitions(file.read_text()).values())
    given = ("--reassignment-json-file", str(file))
    said = tool(bootstrap, REASSIGN, "--execute", *given, "--throttle", "100000000")
    assert "Successfully started partition reassignments for t-0,t-1,t-2" in said
    tool(bootstrap, REASSIGN, "--cancel", *given)
    assert "No partition reassignments found." in tool(bootstrap, REASSIGN, "--list")


def test_our_tool_carries_out_kafkas_plan(bootstrap: str, tmp_path: Path) -> None:
    topics, file = tmp_path / "topics.json", tmp_path / "theirs.json"
    topics.write_text('{"topics":[{"topic":"t"}],"version":1}')
    said = tool(bootstrap, REASSIGN, "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3")  # fmt: skip
    before, proposed = (line for line in said.splitlines() if line.startswith("{"))
    file.write_text(proposed)
    begun = ours(bootstrap, "cluster", "reassign", "execute", str(file))
    assert partitions(begun.stdout) == partitions(before)
    ours(bootstrap, "cluster", "reassign", "cancel", str(file))
    assert ours(bootstrap, "cluster", "reassign", "list", "--output", "json").stdout == "[]\n"


def test_directories_are_told_alike(bootstrap: str) -> None:
    said = tool(bootstrap, f"{TOOLS}.LogDirsCommand", "--describe", "--broker-list", "2", "--topic-list", "none")  # fmt: skip
    theirs = next(line for line in said.splitlines() if line.startswith("{"))
    told = ours(
        bootstrap, "cluster", "log-dirs", "--broker-list", "2", "--topic-list", "none", "--output", "json",
    )  # fmt: skip
    assert told.stdout.strip() == theirs


def test_elections_that_are_not_needed_are_no_error(bootstrap: str) -> None:
    election = f"{TOOLS}.LeaderElectionCommand"
    tool(bootstrap, election, "--election-type", "preferred", "--all-topic-partitions")
    said = tool(bootstrap, election, "--election-type", "unclean", "--topic", "t", "--partition", "0")  # fmt: skip
    assert "Valid replica already elected for partitions t-0" in said


def test_more_replicas_than_brokers_are_refused_in_kafkas_words(bootstrap: str) -> None:
    said = tool(
        bootstrap, f"{TOOLS}.TopicCommand", "--create", "--topic", "x", "--replication-factor", "4",
        fails=True,
    )  # fmt: skip
    assert "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because only 3 broker(s)" in said  # fmt: skip
