"""Values of share consumers: acknowledgements and the partitions they are about (KIP-932)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from millstream.errors import KafkaError
from millstream.model import TopicPartition, Uuid
from millstream.protocol.enums import AcknowledgeType

Acknowledgements = dict[int, int]
"""By offset: an AcknowledgeType, or ACKNOWLEDGE_GAP."""


class TopicIdPartition(NamedTuple):
    """A partition of a topic that keeps its identity when another topic takes over the name."""

    topic_id: Uuid
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The same without the id."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class NodeAcknowledgements(NamedTuple):
    """`node_id`: who handed the records out, the only one who can take them back."""

    node_id: int
    partition: TopicIdPartition
    acknowledgements: Acknowledgements


class AcknowledgementOutcome(NamedTuple):
    """The answer to acknowledgements: `error` is None when it took them."""

    partition: TopicIdPartition
    acknowledgements: Acknowledgements
    error: KafkaError | None
    lock_timeout_ms: int | None = None

    @property
    def renews(self) -> bool:
        return AcknowledgeType.RENEW in self.acknowledgements.values()


AcknowledgementCommitCallback = Callable[
    [Mapping[TopicIdPartition, AbstractSet[int]], KafkaError | None], None
]
"""Takes the offsets that were acknowledged, a partition at a time, and the error if they could not be."""


class AcknowledgedRange(NamedTuple):
    """`types` has one entry for all offsets of the range, or one for each."""

    first_offset: int
    last_offset: int
    types: list[int]


def acknowledged_ranges(acknowledgements: Acknowledgements) -> Iterator[AcknowledgedRange]:
    """Yields the acknowledgements as requests carry them: a range for each run of offsets, in order."""
    offsets = sorted(acknowledgements)
    places = range(len(offsets))
    start = 0
    while start < len(offsets):
        # within a run an offset is as far from its place as the first one
        stop = bisect_right(
            places, offsets[start] - start, lo=start, key=lambda place: offsets[place] - place
        )
        types = [acknowledgements[offset] for offset in offsets[start:stop]]
        shown = types if len(set(types)) > 1 else types[:1]
        yield AcknowledgedRange(offsets[start], offsets[stop - 1], shown)
        start = stop
