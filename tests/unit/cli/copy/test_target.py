from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from millstream.cli.copy.target import (
    TargetOptions,
    check_partitions,
    create_target,
    target_cluster,
)
from millstream.errors import ConfigError
from millstream.protocol.enums import ConfigSource


def described(
    name: str, partitions: int, replicas: int = 1
) -> Any:  # Any: as much as is asked of it
    return SimpleNamespace(
        name=name, partitions=[SimpleNamespace(replicas=[*range(replicas)])] * partitions
    )


class Cluster:
    """An Admin of a cluster with so many brokers, that notes what it is to make."""

    def __init__(self, brokers: int, **configs: tuple[str, ConfigSource]) -> None:
        self.brokers = brokers
        self.configs = configs
        self.made: list[Any] = []  # Any: NewTopic

    def describe_configs(self, _resources: object) -> Any:  # Any: Results
        entries = {
            name.replace("_", "."): SimpleNamespace(value=value, source=source)
            for name, (value, source) in self.configs.items()
        }
        return SimpleNamespace(result=lambda _: entries)

    def describe_cluster(self) -> Any:  # Any: ClusterDescription
        return SimpleNamespace(nodes=[None] * self.brokers)

    def create_topics(self, topics: list[Any]) -> Any:  # Any: Results
        self.made += topics
        return SimpleNamespace(raise_errors=lambda: None)

    def describe_topics(self, names: list[str]) -> Any:  # Any: Results
        return SimpleNamespace(result=lambda _: described(names[0], 2))


@pytest.mark.parametrize(("brokers", "replicas"), [(5, 3), (3, 3), (1, 1)])
def test_a_target_is_made_as_the_source_is_as_far_as_brokers_allow(
    brokers: int, replicas: int
) -> None:
    source: Any = Cluster(
        3,
        retention_ms=("5", ConfigSource.TOPIC_CONFIG),
        segment_bytes=("9", ConfigSource.DEFAULT_CONFIG),
    )
    target: Any = Cluster(brokers)
    create_target(source, target, described("a", 2, 3), "b")
    (made,) = target.made
    assert (made.name, made.num_partitions, made.replication_factor) == ("b", 2, replicas)
    assert made.configs == {"retention.ms": "5"}


def test_records_stay_where_the_target_has_as_many_partitions() -> None:
    check_partitions(described("a", 2), described("b", 3))
    with pytest.raises(ConfigError, match="b has 1 partitions and a has 2: --repartition"):
        check_partitions(described("a", 2), described("b", 1))


def test_the_target_is_in_the_same_cluster_unless_another_one_is_named() -> None:
    assert target_cluster(TargetOptions(None, None, ("linger.ms=5",), None)) is None


def test_another_cluster_has_nothing_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that is for the source goes nowhere else."""
    monkeypatch.setenv("MILLSTREAM_PROFILE", "prod")
    there = target_cluster(TargetOptions("h:1", None, ("linger.ms=5",), None))
    assert there is not None
    assert (there.bootstrap, there.file_settings, there.properties) == ("h:1", {}, ("linger.ms=5",))
    file = tmp_path / "f"
    file.write_text("sasl.password=secret\n")
    with pytest.raises(click.UsageError, match="say where the target's cluster is"):
        target_cluster(TargetOptions(None, str(file), (), None))
