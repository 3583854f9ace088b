"""The hosts of a group that answer queries, and what their tasks read, as the coordinator tells them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from millstream.model import TopicPartition
from millstream.protocol.generated import streams_group_heartbeat as wire
from millstream.streams.host_info import HostInfo


class HostPartitions(NamedTuple):
    """The input partitions of the active tasks of one host, and of those whose stores it keeps a copy of."""

    host: HostInfo
    active: frozenset[TopicPartition]
    standby: frozenset[TopicPartition] = frozenset()


class KnownHosts(NamedTuple):
    """`epoch` goes up as tasks move; -1 before the first answer of the coordinator."""

    epoch: int = -1
    hosts: tuple[HostPartitions, ...] = ()


NO_HOSTS: Final = KnownHosts()


def known_hosts(epoch: int, told: Iterable[wire.EndpointToPartitions]) -> KnownHosts:
    """Returns the hosts in order. Each member tells of its own tasks: those of one address belong together."""
    active: dict[HostInfo, set[TopicPartition]] = {}
    standby: dict[HostInfo, set[TopicPartition]] = {}
    for each in told:
        host = HostInfo(each.user_endpoint.host, each.user_endpoint.port)
        active.setdefault(host, set()).update(_partitions(each.active_partitions))
        standby.setdefault(host, set()).update(_partitions(each.standby_partitions))
    return KnownHosts(
        epoch,
        tuple(
            HostPartitions(host, frozenset(active[host]), frozenset(standby[host]))
            for host in sorted(active)
        ),
    )


def _partitions(listed: Iterable[wire.TopicPartition]) -> Iterable[TopicPartition]:
    return (TopicPartition(each.topic, number) for each in listed for number in each.partitions)
