"""The assignors with which the leader of a classic group shares out partitions."""

from millstream.clients.group.assignors.assignment import (
    Assignment,
    Assignor,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
)
from millstream.clients.group.assignors.registry import ASSIGNORS, chosen_assignors

__all__ = [
    "ASSIGNORS",
    "Assignment",
    "Assignor",
    "LastAssignment",
    "MemberSubscription",
    "TopicRacks",
    "chosen_assignors",
]
