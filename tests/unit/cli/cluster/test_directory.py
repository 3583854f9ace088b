"""The directory of a cluster: it is formatted once, goes on where it was cut off, and is not made again for a lost disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from millstream.cli.cluster.directory import ClusterDirectory
from millstream.cli.cluster.layout import ClusterLayout, DamagedCluster, Roles
from millstream.errors import ConfigError


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
