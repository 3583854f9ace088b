"""The identity of a node."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import BrokerId, Uuid


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The identity of this node: written once at format time, never changed while it lives."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid
    incarnation_id: Uuid
