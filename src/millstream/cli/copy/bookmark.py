"""Keeps how far a copy has come beside what it has written: as offsets of a group in the cluster of the target.

So the source is only read, and one transaction can have both the records and the place they came from. The offsets are
those of the target's partitions, for a cluster takes offsets of topics that it has; where they point to stands in their
metadata. A bookmark says which topics it is of: another topic of the same name is another topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.clients import OffsetAndMetadata
from millstream.errors import ConfigError, GroupIdNotFound
from millstream.model import TopicPartition

if TYPE_CHECKING:
    from millstream.clients.blocking import Admin

SOURCES_MAX: Final = 100
"""Partitions of the source for one of the target: some 25 bytes each, and offset.metadata.max.bytes is 4096."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """`source` and `target` name topics so that none but them is meant."""

    group: str
    source: str
    target: str
    topic: str
    partition_count: int
    """Topic and partitions of the target."""

    def offsets(self, next_offsets: Mapping[int, int]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Returns what is committed: next offsets of the source's partitions, by number."""
        shares: dict[int, dict[str, int]] = {}
        for number, offset in sorted(next_offsets.items()):
            shares.setdefault(number % self.partition_count, {})[str(number)] = offset
        return {
            TopicPartition(self.topic, number): OffsetAndMetadata(
                sum(share.values()),
                json.dumps(
                    {"source": self.source, "target": self.target, "next": share},
                    separators=(",", ":"),
                ),
            )
            for number, share in shares.items()
        }

    def next_offsets(self, committed: Iterable[OffsetAndMetadata]) -> dict[int, int]:
        """Returns where the copy goes on. Raises ConfigError for a bookmark of other topics."""
        found: dict[int, int] = {}
        for each in committed:
            try:
                document = json.loads(each.metadata)
                topics, share = (document["source"], document["target"]), document["next"]
                found |= {int(number): int(offset) for number, offset in share.items()}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigError(
                    f"group {self.group} has offsets of {self.topic} that are no bookmark of a copy: choose another name"
                ) from error
            if topics != (self.source, self.target):
                raise ConfigError(
                    f"bookmark {self.group} is of a copy of {topics[0]} to {topics[1]}, not of {self.source} to {self.target}: "
                    f"choose another name, or forget it (millstream groups delete {self.group}, in the target's cluster)"
                )
        return found

    def read(self, admin: Admin) -> dict[int, int]:
        """Returns where the copy goes on, by partition of the source; nothing before the first run."""
        partitions = [TopicPartition(self.topic, each) for each in range(self.partition_count)]
        listed = admin.list_consumer_group_offsets({self.group: partitions}, require_stable=True)
        if isinstance(listed.errors().get(self.group), GroupIdNotFound):
            return {}
        found = listed.result(self.group).raise_errors()
        return self.next_offsets(found.result(each) for each in found)

    def write(self, admin: Admin, next_offsets: Mapping[int, int]) -> None:
        """Commits, of what is written for good."""
        admin.alter_consumer_group_offsets(self.group, self.offsets(next_offsets)).raise_errors()
