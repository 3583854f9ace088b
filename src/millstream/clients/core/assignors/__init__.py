"""How the leader of a classic group shares out partitions."""

from millstream.clients.core.assignors.assignment import Assignment, Assignor, MemberSubscription
from millstream.clients.core.assignors.registry import ASSIGNORS

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "MemberSubscription"]
