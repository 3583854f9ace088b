"""When a node formats an empty directory by itself, and when it must not."""

from __future__ import annotations

import re

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.storage.data_directory import open_data_directories
from millstream.errors import ConfigError
from millstream.log.directory.log_environment import LogEnvironment
from millstream.runtime.system import SystemRandom
from tests.support.simulated_disk import SimFileSystem

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
ALONE = {
    "log.dirs": "data",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.bootstrap.servers": "localhost:9093",
}
WITH_OTHERS = ALONE | {"controller.quorum.bootstrap.servers": "localhost:9093,elsewhere:9093"}


def cluster_of(disk: SimFileSystem, settings: dict[str, str], cluster_id: str | None = None) -> str:
    environment = LogEnvironment(disk, SystemRandom())
    directories = open_data_directories(broker_config(settings), environment, cluster_id)
    try:
        return directories.metadata.meta.cluster_id
    finally:
        directories.abandon()


def test_a_node_that_is_alone_makes_a_cluster_of_its_own() -> None:
    disk = SimFileSystem()
    made = cluster_of(disk, ALONE)
    assert len(made) == 22
    assert cluster_of(disk, ALONE) == made


def test_a_node_that_knows_others_makes_no_cluster_beside_theirs() -> None:
    disk = SimFileSystem()
    sentence = (
        "data is not formatted, and the settings name other nodes of the cluster (elsewhere:9093): format it with their cluster id "
        "(millstream storage format -t ID -c FILE), or give that id with --cluster-id"
    )
    for _ in range(2):
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            cluster_of(disk, WITH_OTHERS)


def test_a_node_that_knows_others_takes_the_id_that_it_is_given() -> None:
    disk = SimFileSystem()
    assert cluster_of(disk, WITH_OTHERS, CLUSTER) == CLUSTER
    assert cluster_of(disk, WITH_OTHERS) == CLUSTER


@pytest.mark.parametrize(
    "moved", [{"log.dirs": "new,data"}, {"log.dirs": "data", "metadata.log.dir": "new"}]
)
def test_a_new_directory_does_not_take_the_place_of_the_metadata_log(moved: dict[str, str]) -> None:
    """The node would know no topic, and what it has of them would be moved aside. Nothing is formatted on the way."""
    disk = SimFileSystem()
    made = cluster_of(disk, ALONE)
    for cluster_id in (None, made):
        with pytest.raises(ConfigError, match=f"new is to hold the metadata log and is not formatted, and data belongs to cluster {made} already"):  # fmt: skip
            cluster_of(disk, ALONE | moved, cluster_id)
    assert not disk.exists("new/meta.properties")
    assert cluster_of(disk, ALONE) == made


def test_a_directory_more_belongs_to_the_cluster_of_the_first() -> None:
    disk = SimFileSystem()
    cluster_of(disk, WITH_OTHERS, CLUSTER)
    assert cluster_of(disk, WITH_OTHERS | {"log.dirs": "data,more"}) == CLUSTER
    assert f"cluster.id={CLUSTER}" in disk.read("more/meta.properties").decode()


def test_a_new_data_directory_is_closed_to_others_although_it_was_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = SimFileSystem()
    disk.make_directory("data")
    disk.open_to_others.add("data")
    cluster_of(disk, ALONE)
    assert disk.is_private("data")
    assert not caplog.messages


def test_one_that_was_formatted_keeps_its_rights_and_the_operator_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = SimFileSystem()
    cluster_of(disk, ALONE)
    disk.open_to_others.add("data")
    cluster_of(disk, ALONE)
    assert not disk.is_private("data")
    (told,) = caplog.messages
    assert told.endswith("to close it: chmod -R go= data")


def test_a_directory_of_another_user_is_formatted_and_told_of(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mounted volume belongs to whoever mounted it."""

    def refuse(_disk: SimFileSystem, path: str) -> None:
        raise PermissionError(1, "Operation not permitted", path)

    monkeypatch.setattr(SimFileSystem, "make_private", refuse)
    disk = SimFileSystem()
    disk.open_to_others.add("data")
    cluster_of(disk, ALONE)
    assert "other users of this machine may read" in caplog.text
