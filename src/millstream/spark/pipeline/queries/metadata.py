"""The places of the stores of an application: Kafka Streams' KeyQueryMetadata and StreamsMetadata. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.model import TopicPartition
from millstream.spark.pipeline.placement import Slot, Task
from millstream.spark.pipeline.plan import SubTopologyPlan
from millstream.streams.topology.topology import Topology


@dataclass(frozen=True, slots=True, order=True)
class HostInfo:
    """A task host: its executor, as Spark calls it, and its number there. `driver` is the executor in the driver's own JVM."""

    executor: str
    number: int


@dataclass(frozen=True, slots=True)
class KeyQueryMetadata:
    """The place of a key. `active_host` None: no host has the task now. There are no standby hosts."""

    partition: int
    active_host: HostInfo | None


@dataclass(frozen=True, slots=True)
class StreamsMetadata:
    """One task host: the stores of its tasks, and what these read."""

    host: HostInfo
    state_store_names: frozenset[str]
    topic_partitions: frozenset[TopicPartition]


def host_info(slot: Slot) -> HostInfo:
    return HostInfo(slot.executor or "driver", slot.number)


def metadata_of_hosts(
    topology: Topology, plans: Mapping[int, SubTopologyPlan], places: Mapping[Task, Slot]
) -> list[StreamsMetadata]:
    """Returns what each task host has, in the order of the hosts. Global stores are in every one."""
    stores: dict[HostInfo, set[str]] = {}
    partitions: dict[HostInfo, set[TopicPartition]] = {}
    for (number, partition), slot in places.items():
        host = host_info(slot)
        own = {spec.name for spec in topology.stores_of(topology.sub_topologies[number])}
        stores.setdefault(host, set(topology.global_stores)).update(own)
        topics = plans[number].topics_of_tasks.get(partition, ())
        read = {TopicPartition(topic, partition) for topic in topics}
        partitions.setdefault(host, set()).update(read)
    return [
        StreamsMetadata(host, frozenset(stores[host]), frozenset(partitions[host]))
        for host in sorted(stores)
    ]
