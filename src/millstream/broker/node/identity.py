"""Who a node is."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import BrokerId, Uuid


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who this node is: written once at format time, never changed while it lives."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid
    incarnation_id: Uuid
