from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from millstream.cli.copy.target import (
    TargetOptions,
    check_partitions,
    create_target,
    target_cluster,
)
from millstream.clients.admin import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    PartitionDescription,
    Results,
    TopicDescription,
)
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import ConfigError
from millstream.model import ZERO_UUID
from millstream.net.client.core.addresses import Address
from millstream.protocol.enums import ConfigSource


def described(name: str, partitions: int, replicas: int = 1) -> TopicDescription:
    return TopicDescription(
        name,
        ZERO_UUID,
        is_internal=False,
        partitions=[
            PartitionDescription(each, 0, replicas=tuple(range(replicas)))
            for each in range(partitions)
        ],
    )


class Cluster:
    """An Admin of a cluster with so many brokers, that notes what it is to make."""

    def __init__(self, brokers: int, *configs: ConfigEntry) -> None:
        self.brokers = brokers
        self.configs = {each.name: each for each in configs}
        self.made: list[NewTopic] = []

    def describe_configs(
        self, resources: list[ConfigResource]
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        return Results(dict.fromkeys(resources, self.configs))

    def describe_cluster(self) -> ClusterDescription:
        nodes = [BrokerNode(each, Address("h", 1)) for each in range(self.brokers)]
        return ClusterDescription("c", 0, nodes)

    def create_topics(self, topics: list[NewTopic]) -> Results[str, None]:
        self.made += topics
        return Results({each.name: None for each in topics})

    def describe_topics(self, names: list[str]) -> Results[str, TopicDescription]:
        return Results({each: described(each, 2) for each in names})


@pytest.mark.parametrize(("brokers", "replicas"), [(5, 3), (3, 3), (1, 1)])
def test_a_target_is_made_as_the_source_is_as_far_as_brokers_allow(
    brokers: int, replicas: int
) -> None:
    source: Any = Cluster(  # Any: it stands for an Admin
        3,
        ConfigEntry("retention.ms", "5", ConfigSource.TOPIC_CONFIG, False, False),
        ConfigEntry("segment.bytes", "9", ConfigSource.DEFAULT_CONFIG, False, False),
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
