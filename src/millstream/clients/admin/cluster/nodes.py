"""The nodes of a cluster with their roles, put together from what it says of its brokers and of the
quorum of its controllers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.errors import KafkaError

if TYPE_CHECKING:
    from millstream.clients.admin.cluster.brokers import ClusterDescription
    from millstream.clients.admin.cluster.log_dirs import LogDirDescription
    from millstream.clients.admin.cluster.quorum import QuorumInfo, QuorumReplica


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """One node, as far as the cluster knows it."""

    node_id: int
    address: str | None
    """Of its broker, or where it is none, of its controller."""
    rack: str | None
    is_broker: bool
    is_controller: bool
    is_fenced: bool
    place: str | None
    """In the quorum: leader, follower or observer. None where the leader has not heard of it."""
    lag: int | None
    """Records of the metadata log that it does not have; None where the leader does not know."""
    lag_ms: int | None
    """How long ago it had all of them."""

    @property
    def roles(self) -> list[str]:
        """The roles as `process.roles` names them; `observer` for a node of which nothing else is known."""
        named = (("broker", self.is_broker), ("controller", self.is_controller))
        return [name for name, has_it in named if has_it] or ["observer"]


def broker_state(directories: Iterable[LogDirDescription | KafkaError], *, is_fenced: bool) -> str:
    """Returns `fenced`, `cordoned` where no directory takes new replicas, or `active`."""
    if is_fenced:
        return "fenced"
    return "cordoned" if is_cordoned(directories) else "active"


def is_cordoned(directories: Iterable[LogDirDescription | KafkaError]) -> bool:
    """Whether no log directory of a broker takes new replicas."""
    usable = [each for each in directories if not isinstance(each, KafkaError)]
    return bool(usable) and all(each.is_cordoned for each in usable)


def cluster_nodes(
    cluster: ClusterDescription | None, quorum: QuorumInfo, controllers: Mapping[int, str]
) -> list[ClusterNode]:
    """Returns every node, by id. `cluster`: what brokers say; None where controllers were asked.

    `controllers`: addresses of more of them.
    """
    told = {node: str(each[0].address) for node, each in quorum.nodes.items() if each}
    addresses = {**told, **controllers}
    brokers = {} if cluster is None else {node.node_id: node for node in cluster.nodes}
    fenced = frozenset[int]() if cluster is None else cluster.fenced_broker_ids
    replicas = {each.replica_id: each for each in (*quorum.observers, *quorum.voters)}
    voters = {each.replica_id for each in quorum.voters}
    leader = replicas.get(quorum.leader_id)
    nodes = []
    for node_id in sorted(brokers.keys() | replicas.keys() | addresses.keys()):
        broker, replica = brokers.get(node_id), replicas.get(node_id)
        nodes.append(
            ClusterNode(
                node_id=node_id,
                address=addresses.get(node_id) if broker is None else str(broker.address),
                rack=None if broker is None else broker.rack,
                is_broker=broker is not None,
                is_controller=node_id in voters or node_id in addresses,
                is_fenced=node_id in fenced,
                place=_place(node_id, quorum.leader_id, voters, is_known=replica is not None),
                lag=_lag(leader, replica),
                lag_ms=_lag_ms(leader, replica),
            )
        )
    return nodes


def _place(node_id: int, leader_id: int, voters: set[int], *, is_known: bool) -> str | None:
    if node_id == leader_id:
        return "leader"
    if node_id in voters:
        return "follower"
    return "observer" if is_known else None


def _lag(leader: QuorumReplica | None, replica: QuorumReplica | None) -> int | None:
    if leader is None or replica is None or replica.log_end_offset < 0:
        return None
    return max(0, leader.log_end_offset - replica.log_end_offset)


def _lag_ms(leader: QuorumReplica | None, replica: QuorumReplica | None) -> int | None:
    """By the leader's clock: it has everything at the time of its answer."""
    if leader is None or replica is None:
        return None
    now_ms, then_ms = leader.last_caught_up_ms, replica.last_caught_up_ms
    return None if now_ms is None or then_ms is None else max(0, now_ms - then_ms)
