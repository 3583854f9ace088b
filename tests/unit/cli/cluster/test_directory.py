"""The directory of a cluster: it is formatted once, goes on where it was cut off, and is not made again for a lost disk."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.sources import gathered_settings
from millstream.broker.storage.bootstrap_checkpoint import read_bootstrap
from millstream.cli.certs.issuing import is_good
from millstream.cli.cluster.directory import ClusterDirectory
from millstream.cli.cluster.layout import ClusterLayout, DamagedCluster, Roles
from millstream.cli.cluster.secure_files import SecureFiles
from millstream.cli.secure.secure_node import SecureNode
from millstream.cli.server.settings import check_stays_secure
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties
from millstream.protocol.generated.metadata_records import UserScramCredentialRecord
from millstream.runtime.system import SystemFileSystem
from millstream.testing import Broker


def metas(path: Path) -> dict[str, str]:
    return {each.parent.name: each.read_text() for each in path.glob("node-*/meta.properties")}


def prepared(path: Path, roles: Roles = Roles.COMBINED) -> ClusterLayout:
    directory = ClusterDirectory(path)
    return directory.prepare(directory.layout(3, roles, 9_092))


def test_all_nodes_are_formatted_with_one_cluster_id(tmp_path: Path) -> None:
    made = prepared(tmp_path, Roles.SEPARATE)
    found = metas(tmp_path)
    assert set(found) == {f"node-{each}" for each in (1, 2, 3, 101, 102, 103)}
    for text in found.values():
        assert f"cluster.id={made.cluster_id}" in text
    for node in made.controllers:
        assert f"directory.id={node.directory_id}" in found[node.name]


def test_the_next_start_finds_the_same_cluster(tmp_path: Path) -> None:
    made, before = prepared(tmp_path), metas(tmp_path)
    directory = ClusterDirectory(tmp_path)
    assert directory.layout() == made
    assert directory.prepare(directory.layout(port=0)) == made
    assert metas(tmp_path) == before


def test_formatting_that_was_cut_off_goes_on_with_the_same_ids(tmp_path: Path) -> None:
    directory = ClusterDirectory(tmp_path)
    planned = directory.layout(3, None, 9_092)
    directory._write(planned)
    directory._format(planned, planned.nodes[0])
    made = prepared(tmp_path)
    assert made.initial_controllers == planned.initial_controllers
    assert len(metas(tmp_path)) == 3


def test_a_lost_disk_is_refused_and_the_way_on_is_told(tmp_path: Path) -> None:
    """Empty under its old id, the voter could vote for a leader without what it had helped to commit."""
    made = prepared(tmp_path)
    shutil.rmtree(tmp_path / "node-2")
    with pytest.raises(DamagedCluster) as refused:
        prepared(tmp_path)
    assert f"format -t {made.cluster_id} -c {tmp_path}/node-2.properties --no-initial-controllers" in str(refused.value)  # fmt: skip


def test_a_path_with_a_comma_is_refused() -> None:
    with pytest.raises(ConfigError, match="comma"):
        ClusterDirectory("a,b")


def test_a_secure_cluster_is_formatted_with_its_administrator(tmp_path: Path) -> None:
    """Every controller has it, whichever leads first, and a format that was cut off goes on with the same password."""
    directory = ClusterDirectory(tmp_path)
    planned = directory.layout(3, None, 9_092, secure=True)
    directory._write(planned)
    scram = SecureFiles(tmp_path).begin(planned)
    directory._format(planned, planned.nodes[0], scram)
    made = directory.prepare(directory.layout(secure=True))
    assert SecureFiles(tmp_path).begin(made) == scram
    for node in made.nodes:
        records = read_bootstrap(SystemFileSystem(), str(directory.data(node)))
        assert records is not None
        users = [each for each in records if isinstance(each, UserScramCredentialRecord)]
        assert {each.name for each in users} == {"admin"}
        assert len(users) == 2
        assert is_good(
            (tmp_path / f"{node.name}.pem").read_text(), ["127.0.0.1"], dt.datetime.now(dt.UTC)
        )


def test_the_login_is_told_when_the_cluster_is_new(tmp_path: Path) -> None:
    directory = ClusterDirectory(tmp_path)
    made = directory.prepare(directory.layout(1, None, 9_092, secure=True))
    files = SecureFiles(tmp_path)
    assert "user admin, password " in files.ready(made, is_new=True)
    assert "password" not in files.ready(made, is_new=False)
    client = parse_properties((tmp_path / "client.properties").read_text())
    assert client["bootstrap.servers"] == "127.0.0.1:9092"


def test_a_node_of_a_secure_cluster_is_not_served_openly(tmp_path: Path) -> None:
    """Whether the cluster was formatted before its nodes were marked or after it."""
    directory = ClusterDirectory(tmp_path)
    made = directory.prepare(directory.layout(1, Roles.SEPARATE, 9_092, secure=True))
    for mark in tmp_path.glob("node-*/secure-cluster.properties"):
        mark.unlink()
    directory.prepare(made)
    for node in made.nodes:
        check_stays_secure(broker_config(directory.node_settings(made, node)))
        data = str(directory.data(node))
        with pytest.raises(ConfigError, match=r"start it with `millstream cluster --secure`"):
            check_stays_secure(broker_config({"log.dirs": data}))
        with pytest.raises(ConfigError, match="was begun with --secure"):
            Broker(data=data).start()
        given = {"log.dirs": data}
        with pytest.raises(ConfigError, match="is of a node of `millstream cluster --secure`"):
            SecureNode(gathered_settings(given, "f", {}, ()), given, None)


def test_an_open_controller_of_a_secure_cluster_is_refused(tmp_path: Path) -> None:
    directory = ClusterDirectory(tmp_path)
    made = directory.prepare(directory.layout(1, Roles.SEPARATE, 9_092, secure=True))
    for node in made.controllers:
        settings = directory.node_settings(made, node)
        settings["listener.name.controller.ssl.client.auth"] = "none"
        with pytest.raises(ConfigError, match="was begun with --secure"):
            check_stays_secure(broker_config(settings))


def test_every_data_directory_is_looked_at(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "secure.properties").touch()
    with pytest.raises(ConfigError, match="/b was begun with --secure"):
        check_stays_secure(broker_config({"log.dirs": f"{tmp_path}/a,{tmp_path}/b"}))
