"""The parts of a node that its metrics and its health are read from."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.node.broker_state import BrokerLife
from millstream.broker.node.long_work import LongWork
from millstream.broker.node.services import ControllerClient, Metadata, Partitions
from millstream.broker.requests.purgatory import Purgatory
from millstream.log.directory.log_directories import LogDirectories
from millstream.model import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A read-only view of the parts of a node."""

    node_id: BrokerId
    life: BrokerLife
    metrics: NodeMetrics
    metadata: Metadata
    controller: ControllerClient
    partitions: Partitions
    log_directories: LogDirectories
    group_coordinator: GroupCoordination
    purgatory: Purgatory
    long_work: LongWork
    fetch_sessions: FetchSessions
