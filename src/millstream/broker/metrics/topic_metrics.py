"""Counts the traffic of topics (Kafka's BrokerTopicMetrics): records and bytes in, bytes out, refusals.

Counted by batch and by answered partition, never by record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from millstream.errors import (
    CorruptMessage,
    InvalidRecord,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    NotLeaderOrFollower,
    OutOfOrderSequenceNumber,
    RecordListTooLarge,
    UnknownTopicOrPartition,
)

COUNTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "messagesin": "Records appended.",
        "bytesin": "Bytes of batches appended.",
        "bytesout": "Bytes of records sent to consumers.",
        "bytesrejected": "Bytes of batches that were larger than max.message.bytes.",
        "totalproducerequests": "Batches that producers sent.",
        "failedproducerequests": "Batches refused for what producers do not answer by themselves.",
        "totalfetchrequests": "Partitions told of in answers to fetches.",
        "failedfetchrequests": "Partitions that answers to fetches had an error for.",
        "invalidmessagecrcrecords": "Batches whose checksum was wrong.",
        "invalidoffsetorsequencerecords": "Batches out of their producer's order.",
        "nokeycompactedtopicrecords": "Batches refused for what is in their records, such as a missing key in a compacted topic.",
    }
)  # fmt: skip
"""Names as Kafka's, lower-cased, and what they count."""

_EXPECTED: Final = (
    UnknownTopicOrPartition,
    NotLeaderOrFollower,
    MessageTooLarge,
    RecordListTooLarge,
    CorruptMessage,
    KafkaStorageError,
)


class TopicMetrics:
    """The counters of one topic: one attribute for each of COUNTERS."""

    __slots__ = tuple(COUNTERS)

    messagesin: int
    bytesin: int
    bytesout: int
    bytesrejected: int
    totalproducerequests: int
    failedproducerequests: int
    totalfetchrequests: int
    failedfetchrequests: int
    invalidmessagecrcrecords: int
    invalidoffsetorsequencerecords: int
    nokeycompactedtopicrecords: int

    def __init__(self) -> None:
        for name in COUNTERS:
            setattr(self, name, 0)

    def record_append(self, messages: int, size_bytes: int) -> None:
        self.totalproducerequests += 1
        self.messagesin += messages
        self.bytesin += size_bytes

    def record_refusal(self, error: KafkaError, size_bytes: int) -> None:
        """Counts a refused batch. As in Kafka, a refusal that producers handle themselves is not a failed request."""
        self.totalproducerequests += 1
        self.failedproducerequests += not isinstance(error, _EXPECTED)
        match error:
            case MessageTooLarge() | RecordListTooLarge():
                self.bytesrejected += size_bytes
            case CorruptMessage():
                self.invalidmessagecrcrecords += 1
            case OutOfOrderSequenceNumber():
                self.invalidoffsetorsequencerecords += 1
            case InvalidRecord():
                self.nokeycompactedtopicrecords += 1
            case _:
                pass

    def add(self, other: TopicMetrics) -> None:
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class BrokerTopicMetrics:
    """The counters by topic, and of all topics that ever existed: a counter never goes back when a topic is deleted."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicMetrics] = {}
        self._deleted = TopicMetrics()

    def __iter__(self) -> Iterator[tuple[str, TopicMetrics]]:
        return iter(self._topics.items())

    def of(self, topic: str) -> TopicMetrics:
        found = self._topics.get(topic)
        if found is None:
            found = self._topics[topic] = TopicMetrics()
        return found

    def of_all(self) -> TopicMetrics:
        total = TopicMetrics()
        total.add(self._deleted)
        for metrics in self._topics.values():
            total.add(metrics)
        return total

    def forget_others(self, existing: Collection[str]) -> None:
        """Forgets topics that are not among `existing`, since they have been deleted."""
        for topic in [name for name in self._topics if name not in existing]:
            self._deleted.add(self._topics.pop(topic))
