"""The position that a task's last commit covers, and its form beside the committed offsets of the application's group.

Pure. The offset of each input partition is committed in the group `<application id>`, as Kafka Streams does, with Kafka Streams'
metadata: the largest timestamp of the partition, and numbers by name. The latter stand beside the first topic only: what the operators
of a store remember as `<store>/<name>`, and which changelogs the position counts as `/<topic>/<topic id>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.clients import OffsetAndMetadata
from millstream.model import TopicPartition
from millstream.streams.kernel.offset_metadata import OffsetMetadata

StoreTimes = Mapping[str, Mapping[str, int]]
"""By store, what its operators remember, by name."""


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """`offsets`: by input topic, the next offset to read; `times`: by input topic, the largest timestamp read so far.

    `changelogs`: by changelog topic, the id of the topic that holds the state at this position.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    store_times: StoreTimes = field(default_factory=dict)
    changelogs: Mapping[str, str] = field(default_factory=dict)

    def encode(self, partition: int) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets to commit for the task of this partition."""
        first = min(self.offsets, default=None)
        return {
            TopicPartition(topic, partition): OffsetAndMetadata(
                offset,
                OffsetMetadata(
                    self.times.get(topic, -1), self._numbers() if topic == first else {}
                ).encode(),
            )
            for topic, offset in self.offsets.items()
        }

    @classmethod
    def decode(cls, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> CommittedPosition:
        """Reads what a group has committed for the partitions of one task; topics without a commit are left out."""
        metadata = {
            tp.topic: OffsetMetadata.decode(found.metadata) for tp, found in committed.items()
        }
        store_times: dict[str, dict[str, int]] = {}
        changelogs: dict[str, str] = {}
        for each in metadata.values():
            for name, number in each.processor_times.items():
                owner, slash, of_owner = name.partition("/")  # no topic or store has a slash
                if owner and slash:
                    store_times.setdefault(owner, {})[of_owner] = number
                elif slash:
                    topic, _, topic_id = of_owner.partition("/")
                    changelogs[topic] = topic_id
        times = {topic: each.partition_time for topic, each in metadata.items()}
        return cls(
            offsets={tp.topic: found.offset for tp, found in committed.items()},
            times={topic: time for topic, time in times.items() if time >= 0},
            store_times=store_times,
            changelogs=changelogs,
        )

    def _numbers(self) -> dict[str, int]:
        of_stores = {
            f"{store}/{name}": time
            for store, times in self.store_times.items()
            for name, time in times.items()
        }
        return of_stores | {f"/{topic}/{id_}": 0 for topic, id_ in self.changelogs.items()}
