"""Settles what members hold before an assignment, when members of different generations claim the same partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.clients.group.assignors.assignment import MemberSubscription
from millstream.model import TopicPartition


@dataclass(slots=True)
class ClaimedPartitions:
    """The partitions that members own: `current` by member, and the `previous` owner of each partition that
    an outdated member names.
    """

    current: dict[str, list[TopicPartition]]
    previous: dict[TopicPartition, str] = field(default_factory=dict)
    """The newest holder among the members that missed a generation."""

    @classmethod
    def of(
        cls,
        topics: Mapping[str, Sequence[object]],
        members: Mapping[str, MemberSubscription],
    ) -> ClaimedPartitions:
        """A claim counts if the partition exists, whether its holder still wants the topic or not.

        Of several claims the one of the newest generation holds; two of that generation cancel each other out.
        """
        claimants: dict[TopicPartition, list[str]] = {}
        for member in sorted(members):
            for partition in members[member].owned:
                if partition.partition < len(topics.get(partition.topic, ())):
                    claimants.setdefault(partition, []).append(member)
        newest = max((said.generation_id for said in members.values()), default=-1)
        owned = cls({member: [] for member in sorted(members)})
        for partition, names in claimants.items():
            owned._settle(partition, [(members[name].generation_id, name) for name in names])
            late = [
                (members[n].generation_id, n) for n in names if members[n].generation_id < newest
            ]
            if late:
                owned.previous[partition] = max(late, key=lambda claim: claim[0])[1]
        for partitions in owned.current.values():
            partitions.sort()
        return owned

    def _settle(self, partition: TopicPartition, claims: list[tuple[int, str]]) -> None:
        newest = max(generation for generation, _ in claims)
        holders = [name for generation, name in claims if generation == newest]
        if len(holders) == 1:
            self.current[holders[0]].append(partition)
