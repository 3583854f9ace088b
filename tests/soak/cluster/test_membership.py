"""Voters that join by snapshot, are added, removed and replaced, under load and under kills of the controller that leads."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.storage.command import storage
from millstream.clients import NewTopic
from millstream.clients.admin import QuorumInfo, QuorumReplica, RaftVoterEndpoint
from millstream.clients.blocking import Admin
from millstream.errors import MillstreamError
from millstream.net.client.core.addresses import Address
from millstream.testing import Cluster
from tests.soak.cluster.world import (
    LIMIT_S,
    Load,
    another_leads,
    create_topic,
    say,
    three,
    wait_until_in_sync,
)

TOPICS = 60

pytestmark = [pytest.mark.nodes, pytest.mark.soak, pytest.mark.timeout(LIMIT_S * 5)]


def metadata_log(cluster: Cluster, node: int) -> Path:
    return cluster.data / f"node-{node}" / "__cluster_metadata-0"


def trimmed(cluster: Cluster, node: int) -> bool:
    """Whether the log of the node begins behind its first snapshot."""
    starts = sorted(int(each.stem) for each in metadata_log(cluster, node).glob("*.log"))
    return starts[0] > 0


@pytest.mark.parametrize("is_killed", [False, True], ids=["", "killed midway"])
def test_a_voter_behind_a_trimmed_log_joins_by_snapshot(is_killed: bool) -> None:
    with three(
        metadata_log_max_record_bytes_between_snapshots="20000",
        metadata_max_retention_bytes="1",
        metadata_log_segment_ms="500",
        controller_quorum_fetch_snapshot_max_bytes="64",
    ) as cluster:
        leader = cluster.active_controller()
        voter = next(node for node in cluster.node_ids if node != leader)
        cluster.stop(voter)
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            count, deadline = 0, time.monotonic() + LIMIT_S
            while count < TOPICS or not trimmed(cluster, leader):
                admin.create_topics([NewTopic(f"t{count}", 8)]).raise_errors()
                count += 1
                assert time.monotonic() < deadline, "the log is not trimmed"
        if is_killed:
            cluster.begin(voter)
            while not list(metadata_log(cluster, voter).glob("*.part")):
                assert time.monotonic() < deadline + LIMIT_S, "no transfer was seen"
                time.sleep(0.002)
            cluster.kill(voter)
        cluster.restart(voter)
        wait_until_in_sync(cluster)
        with Admin(bootstrap_servers=cluster.address(voter)) as admin:
            assert len(admin.list_topics()) == count


def quorum(cluster: Cluster) -> QuorumInfo:
    """As the leader tells it, whoever that is by now."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
                return admin.describe_metadata_quorum()
        except MillstreamError:
            assert time.monotonic() < deadline


def voter_ids(cluster: Cluster) -> set[int]:
    return {each.replica_id for each in quorum(cluster).voters}


def known(replicas: list[QuorumReplica], node: int) -> QuorumReplica | None:
    """Returns the newest: a leader remembers for minutes that it saw the node with the disk it had before."""
    found = [each for each in replicas if each.replica_id == node]
    return max(found, key=lambda each: each.last_fetch_ms or 0, default=None)


def removed(cluster: Cluster, node: int) -> None:
    """Asks again where a leader that goes has not answered."""
    while (voter := known(quorum(cluster).voters, node)) is not None:
        try:
            with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
                admin.remove_raft_voter(node, voter.directory_id, timeout_ms=10_000)
        except MillstreamError as error:
            say(f"remove: {error}")


def added(cluster: Cluster, node: int) -> None:
    address = cluster.bootstrap_controllers.split(",")[node - 1]
    host, _, port = address.rpartition(":")
    endpoint = RaftVoterEndpoint("CONTROLLER", Address(host, int(port)))
    while True:
        told = quorum(cluster)
        if known(told.voters, node) is not None:
            return
        observer = known(told.observers, node)
        if observer is None:
            time.sleep(0.1)
            continue
        try:
            with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
                admin.add_raft_voter(node, observer.directory_id, [endpoint], timeout_ms=10_000)
        except MillstreamError as error:
            say(f"add: {error}")


def with_an_empty_disk(cluster: Cluster, node: int) -> None:
    shutil.rmtree(cluster.data / f"node-{node}")
    settings = cluster.data / f"node-{node}.properties"
    options = ["format", "-t", cluster.cluster_id, "-c", str(settings), "--no-initial-controllers"]
    result = CliRunner().invoke(storage, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_a_removed_voter_does_not_come_back_by_itself() -> None:
    with three() as cluster:
        leader = cluster.active_controller()
        node = next(each for each in cluster.node_ids if each != leader)
        removed(cluster, node)
        time.sleep(6)  # three fetch time-outs
        assert voter_ids(cluster) == set(cluster.node_ids) - {node}
        cluster.restart(node)
        time.sleep(6)
        assert voter_ids(cluster) == set(cluster.node_ids) - {node}
        added(cluster, node)
        assert voter_ids(cluster) == set(cluster.node_ids)


def test_a_voter_is_replaced_under_load_and_under_kills() -> None:
    """Its disk is wiped. The leader is killed while the old one is removed, and while the new one is added."""
    with three() as cluster:
        leaders = create_topic(cluster, "t", 3)
        leader = cluster.active_controller()
        node = next(each for each in cluster.node_ids if each != leader)
        others = {number for number, at in leaders.items() if at != node}
        with Load(cluster, "t", 3) as load:
            load.of[next(n for n, at in leaders.items() if at == node)].stopping.set()
            load.goes_on(others)
            cluster.stop(node)
            with_an_empty_disk(cluster, node)
            cluster.restart(node)
            removed(cluster, node)
            added(cluster, node)
            wait_until_in_sync(cluster)
            for change in (removed, added):
                leader = cluster.active_controller()
                if leader == node:
                    cluster.stop(node)
                    leader = another_leads(cluster, node)
                    cluster.restart(node)
                    wait_until_in_sync(cluster)
                change(cluster, node)
                if change is added:  # of two voters neither may be away
                    cluster.kill(leader)
                    another_leads(cluster, leader)
                    cluster.restart(leader)
                wait_until_in_sync(cluster)
            load.goes_on(others)
        assert voter_ids(cluster) == set(cluster.node_ids)
        assert [error for each in load.of.values() for error in each.errors] == []
