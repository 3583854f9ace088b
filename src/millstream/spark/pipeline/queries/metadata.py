"""The places of the stores of an application: what `streams.queries.metadata` says of task hosts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.model import TopicPartition
from millstream.spark.pipeline.placement import Slot, Task
from millstream.streams.queries.metadata import StreamsMetadata
from millstream.streams.topology.plan import SubTopologyPlan
from millstream.streams.topology.topology import Topology


@dataclass(frozen=True, slots=True, order=True)
class TaskHostInfo:
    """A task host: its executor, as Spark calls it, and its number there.

    `driver` is the executor in the driver's own JVM.
    """

    executor: str
    number: int


def host_info(slot: Slot) -> TaskHostInfo:
    return TaskHostInfo(slot.executor or "driver", slot.number)


def metadata_of_hosts(
    topology: Topology,
    plans: Mapping[int, SubTopologyPlan],
    assigned: Mapping[Task, Slot],
    copies: Mapping[Task, Sequence[Slot]],
) -> list[StreamsMetadata[TaskHostInfo]]:
    """Returns the hosts of tasks and of `copies`, in their order. Global stores are in every one that has tasks."""
    tasks: dict[TaskHostInfo, list[Task]] = {}
    standbys: dict[TaskHostInfo, list[Task]] = {}
    for task, slot in assigned.items():
        tasks.setdefault(host_info(slot), []).append(task)
    for task, slots in copies.items():
        for slot in slots:
            standbys.setdefault(host_info(slot), []).append(task)

    def stores(mine: Sequence[Task]) -> frozenset[str]:
        groups = [topology.sub_topologies[number] for number in dict(mine)]
        return frozenset(spec.name for group in groups for spec in topology.stores_of(group))

    def inputs(mine: Sequence[Task]) -> frozenset[TopicPartition]:
        return frozenset(
            TopicPartition(topic, partition)
            for number, partition in mine
            for topic in plans[number].topics_of_tasks.get(partition, ())
        )

    return [
        StreamsMetadata(
            host,
            stores(tasks.get(host, [])) | (topology.global_stores if host in tasks else set()),
            inputs(tasks.get(host, [])),
            stores(standbys.get(host, [])),
            inputs(standbys.get(host, [])),
        )
        for host in sorted(tasks.keys() | standbys.keys())
    ]
