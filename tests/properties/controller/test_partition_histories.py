"""Our controller changes partitions as Kafka's did in a recorded history of stops, kills, elections and reassignments.

tests/oracle/partition_histories made it and says how. Before each event the metadata are those that Kafka's log had then.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.broker.metadata_log.log import decoded
from millstream.controller.partitions.leadership import (
    plan_broker_back,
    plan_broker_gone,
    plan_broker_restarted,
)
from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.settings import ControllerSettings
from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.model import BrokerId
from millstream.protocol.generated.metadata_records import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    EndTransactionRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from millstream.records.batch import iterate_batches
from tests.oracle.partition_histories.record import LOG, STOPS

SETTINGS = ControllerSettings(cluster_id="AAAAAAAAAAAAAAAAAAAAAw", node_id=BrokerId(3))
NOTHING = (NoOpRecord, BeginTransactionRecord, EndTransactionRecord)
TARGETS = ((3, 2), (2,), (1, 3, 2))
"""Of the reassignments in the history."""


@dataclass
class Event:
    """The record of a broker, where one is the cause, and the changes of partitions that go with it."""

    cause: MetadataRecord | None = None
    changes: list[PartitionChangeRecord] = field(default_factory=list)


def read_batches() -> Iterator[list[MetadataRecord]]:
    """The records of each batch."""
    with gzip.open(LOG) as file:
        for stored in iterate_batches(file.read()):
            yield [each for each in decoded(stored).records if not isinstance(each, NOTHING)]


def events(records: Sequence[MetadataRecord]) -> Iterator[Event]:
    """What happened in a batch: changes of partitions come before a broker that leaves, and after one that comes or begins to leave."""
    now = Event()
    for record in records:
        if isinstance(record, PartitionChangeRecord):
            now.changes.append(record)
        elif isinstance(record, RegisterBrokerRecord) or (
            isinstance(record, BrokerRegistrationChangeRecord) and record.fenced == 1
        ):
            now.cause = record
            yield now
            now = Event()
        else:
            if now.cause or now.changes:
                yield now
            now = Event(record)
    if now.cause or now.changes:
        yield now


class Judge:
    def __init__(self) -> None:
        self.image = MetadataImage(cluster_id=SETTINGS.cluster_id)
        self.offset = 0
        self.stops = [(number, is_clean) for number, is_clean in json.loads(STOPS.read_text())]
        self.judged = 0
        self.kinds: set[str] = set()

    def planned(self, event: Event) -> list[PartitionChangeRecord]:
        changes = PartitionChanges(self.image, SETTINGS)
        match event.cause:
            case RegisterBrokerRecord(broker_id=number):
                again = BrokerId(number) in self.image.brokers
                _, is_clean = next(s for s in self.stops if s[0] == number) if again else (0, False)
                if again:
                    self.stops.remove((number, is_clean))
                self.kinds.add(f"registered, clean: {is_clean}")
                return plan_broker_restarted(changes, BrokerId(number), is_clean=is_clean)
            case BrokerRegistrationChangeRecord(broker_id=number, fenced=-1):
                self.kinds.add("unfenced")
                return plan_broker_back(changes, BrokerId(number))
            case BrokerRegistrationChangeRecord(broker_id=number) if (
                event.cause.fenced == 1 or event.cause.in_controlled_shutdown == 1
            ):
                self.kinds.add("fenced" if event.cause.fenced else "shutting down")
                return plan_broker_gone(changes, BrokerId(number))
            case None:
                return [self.asked_for(record, changes) for record in event.changes]
            case _:
                return []

    def asked_for(
        self, record: PartitionChangeRecord, changes: PartitionChanges
    ) -> PartitionChangeRecord:
        """The change as one of the requests that were made in the history leads to it; the first guess where none does."""
        topic = self.image.topics.by_id[record.topic_id]
        partition = topic.partitions[record.partition_id]
        guesses = [
            made
            for kind, target in requests(partition, record)
            if (made := changes.change(topic, partition, target)) is not None
            and (same(made, record) and (self.kinds.add(kind) or True))
        ]
        return guesses[0] if guesses else PartitionChangeRecord()

    def replay(self, records: Sequence[MetadataRecord]) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.offset += len(records)
        self.image = delta.image(self.offset, 1)


def requests(
    partition: PartitionImage, record: PartitionChangeRecord
) -> Iterator[tuple[str, PartitionTarget]]:
    yield "elected", PartitionTarget(election=Election.PREFERRED)
    isr = tuple(map(BrokerId, record.isr or ()))
    for wanted in (isr, (*partition.isr, *partition.adding_replicas)):
        yield "altered", PartitionTarget(isr=wanted, leader_recovery_state=0)
    for wanted in TARGETS:
        removing = sorted(set(partition.replicas) - set(wanted))
        adding = sorted(set(wanted) - set(partition.replicas))
        yield (
            "reassigned",
            PartitionTarget(
                replicas=(*map(BrokerId, wanted), *removing),
                removing=tuple(removing) or None,
                adding=tuple(adding) or None,
            ),
        )


def fields(record: PartitionChangeRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.field_names()}


def same(left: PartitionChangeRecord, right: PartitionChangeRecord) -> bool:
    return fields(left) == fields(right)


def in_order(records: Sequence[PartitionChangeRecord]) -> list[dict[str, Any]]:
    return sorted(map(fields, records), key=lambda each: (each["topic_id"], each["partition_id"]))


def test_every_change_of_a_partition_is_kafkas() -> None:
    judge = Judge()
    for records in read_batches():
        for event in events(records):
            assert in_order(judge.planned(event)) == in_order(event.changes)
            judge.judged += len(event.changes)
            cause = [] if event.cause is None else [event.cause]
            comes_first = (
                isinstance(event.cause, BrokerRegistrationChangeRecord) and event.cause.fenced != 1
            )
            judge.replay([*cause, *event.changes] if comes_first else [*event.changes, *cause])
    assert judge.judged == 64
    assert judge.kinds == {
        "registered, clean: True", "registered, clean: False", "unfenced", "fenced", "shutting down", "elected", "altered", "reassigned",
    }  # fmt: skip
