"""What the cluster knows outlives the process, however it ends. Asked by a real client, answered by a real process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

CHANGED = 1
"""Config source of a topic's own values."""


def done(futures: dict) -> None:
    for future in futures.values():
        future.result(LONG_ENOUGH_S)


def change_everything(admin: AdminClient) -> None:
    done(
        admin.create_topics(
            [NewTopic(f"t{n}", n + 1, 1, config={"retention.ms": str(n)}) for n in range(6)]
        )
    )
    done(admin.delete_topics(["t1", "t3"]))
    done(admin.create_partitions([NewPartitions("t0", 4)]))
    change = ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND
    )
    done(
        admin.incremental_alter_configs(
            [ConfigResource(ResourceType.TOPIC, "t2", incremental_configs=[change])]
        )
    )


def known(broker: Broker) -> tuple[str, dict[str, int], dict[str, dict[str, str]]]:
    """Cluster id, partitions by topic, own configs by topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    cluster = admin.list_topics(timeout=LONG_ENOUGH_S)
    topics = {name: len(topic.partitions) for name, topic in cluster.topics.items()}
    leaders = {p.leader for topic in cluster.topics.values() for p in topic.partitions.values()}
    assert leaders == {1}
    described = admin.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    )
    configs = {
        resource.name: {
            key: entry.value
            for key, entry in future.result(LONG_ENOUGH_S).items()
            if entry.source == CHANGED
        }
        for resource, future in described.items()
    }
    return cluster.cluster_id, topics, configs


def stop_cleanly(broker: Broker) -> None:
    broker.stop()
    broker.start()


def fail(broker: Broker) -> None:
    broker.kill()
    broker.start()


@pytest.mark.parametrize("end", [stop_cleanly, fail])
def test_topics_and_configs_are_there_after_a_restart(end: Callable[[Broker], None]) -> None:
    with Broker(in_process=False) as broker:
        change_everything(AdminClient({"bootstrap.servers": broker.bootstrap_servers}))
        before = known(broker)
        assert before[1] == {"t0": 4, "t2": 3, "t4": 5, "t5": 6}
        assert before[2]["t2"] == {"retention.ms": "2", "cleanup.policy": "delete,compact"}
        for _ in range(2):
            end(broker)
            assert known(broker) == before
