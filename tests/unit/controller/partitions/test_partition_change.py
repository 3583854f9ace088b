"""The rules by which a partition changes, one by one (KIP-455, KIP-704, KIP-966). Replicas 1, 2 and 3 unless said; all brokers are up.

That they are Kafka's is held on thousands of random partitions: tests/properties/controller/test_partition_changes_as_kafka.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millstream.controller.partitions.partition_change import (
    Election,
    PartitionRules,
    PartitionTarget,
    changed_partition,
)
from millstream.metadata.image import PartitionImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

TOPIC = Uuid(b"t" * 16)
UP = {1, 2, 3, 4, 5}


def directory(broker_id: int) -> Uuid:
    return Uuid(bytes([broker_id]) * 16)


BEFORE = PartitionImage(
    partition=0, replicas=(1, 2, 3), isr=(1, 2, 3), leader=BrokerId(1), directories=tuple(map(directory, (1, 2, 3))),
)  # fmt: skip
SHORT = replace(BEFORE, isr=(1,), eligible_leader_replicas=(2,))
LOST = replace(BEFORE, isr=(), leader=BrokerId(-1), last_known_eligible_leader_replicas=(1,))
MOVING = replace(
    BEFORE, replicas=(3, 4, 1, 2), isr=(1, 2, 3), adding_replicas=(4,), removing_replicas=(1, 2),
    directories=tuple(map(directory, (3, 4, 1, 2))),
)  # fmt: skip


def changed(
    before: PartitionImage, *, up: set[int] = UP, least: int = 2, elr: bool = True, **target: Any
) -> dict[str, Any]:
    """What the record says, by field; nothing where there is none."""
    rules = PartitionRules(up.__contains__, least, elr, directory)
    record = changed_partition(TOPIC, before, PartitionTarget(**target), rules)
    return {} if record is None else told(record)


def told(record: PartitionChangeRecord) -> dict[str, Any]:
    empty = PartitionChangeRecord(partition_id=record.partition_id, topic_id=record.topic_id)
    return {
        name: getattr(record, name)
        for name in record.field_names()
        if getattr(record, name) != getattr(empty, name)
    }


@pytest.mark.parametrize(
    ("before", "given", "record"),
    [
        # Nothing is written where nothing differs.
        (BEFORE, {}, {}),
        (BEFORE, {"isr": (1, 2, 3)}, {}),
        # A leader that can lead stays, although another replica comes first.
        (replace(BEFORE, leader=BrokerId(2)), {}, {}),
        # One that cannot is followed by the first in order that is in sync and up.
        (BEFORE, {"up": {2, 3}}, {"leader": 2}),
        (replace(BEFORE, isr=(1, 3)), {"up": {2, 3}}, {"leader": 3}),
        # The preferred replica leads where it is asked for and in sync.
        (replace(BEFORE, leader=BrokerId(2)), {"election": Election.PREFERRED}, {"leader": 1}),
        (replace(BEFORE, leader=BrokerId(2), isr=(2, 3)), {"election": Election.PREFERRED}, {}),
        # At or above the least there is nobody eligible beside the ISR.
        (BEFORE, {"isr": (1, 2)}, {"isr": [1, 2]}),
        (SHORT, {"isr": (1, 3)}, {"isr": [1, 3], "eligible_leader_replicas": []}),
        # Below it, whoever leaves is eligible; who lost data is not.
        (BEFORE, {"isr": (1,)}, {"isr": [1], "eligible_leader_replicas": [2, 3]}),
        (BEFORE, {"isr": (1,), "unclean_replicas": (3,)}, {"isr": [1], "eligible_leader_replicas": [2]}),
        (SHORT, {"unclean_replicas": (2,)}, {"eligible_leader_replicas": []}),
        # The ISR may become empty; the leader that is lost is remembered.
        (
            SHORT, {"isr": (), "up": set()},
            {"isr": [], "leader": -1, "eligible_leader_replicas": [1, 2], "last_known_elr": [1]},
        ),
        # Of an empty ISR an eligible replica leads, alone in sync. Cleanly.
        (
            replace(LOST, eligible_leader_replicas=(2, 3)), {},
            {"isr": [2], "leader": 2, "eligible_leader_replicas": [3], "last_known_elr": []},
        ),
        # Without any, the last leader does, uncleanly; no other.
        (LOST, {}, {"isr": [1], "leader": 1, "leader_recovery_state": 1, "last_known_elr": []}),
        (LOST, {"up": {2, 3}}, {}),
        # Where any leader is preferred to none, any that is up does.
        (
            LOST, {"up": {2, 3}, "election": Election.UNCLEAN},
            {"isr": [2], "leader": 2, "leader_recovery_state": 1, "last_known_elr": []},
        ),
        # One that recovers already is not told so again.
        (
            replace(LOST, leader_recovery_state=1), {}, {"isr": [1], "leader": 1, "last_known_elr": []},
        ),
        # A leader says that it has recovered.
        (replace(BEFORE, leader_recovery_state=1), {"leader_recovery_state": 0}, {"leader_recovery_state": 0}),
        # A replica that moves to another directory.
        (
            BEFORE, {"directories": {BrokerId(2): directory(9)}},
            {"directories": [directory(1), directory(9), directory(3)]},
        ),
    ],
)  # fmt: skip
def test_leaders_and_replicas_in_sync(
    before: PartitionImage, given: dict[str, Any], record: dict[str, Any]
) -> None:
    assert changed(before, **given) == record


@pytest.mark.parametrize(
    ("before", "given", "record"),
    [
        # The last replica stays in the ISR though it is gone: it has the data.
        (replace(BEFORE, isr=(1,)), {"isr": (), "up": {2, 3}}, {"leader": -1}),
        # It leads again; nobody else does, unless any is preferred to none.
        (replace(BEFORE, isr=(1,), leader=BrokerId(-1)), {}, {"leader": 1}),
        (replace(BEFORE, isr=(1,), leader=BrokerId(-1)), {"up": {2, 3}}, {}),
        (
            replace(BEFORE, isr=(1,), leader=BrokerId(-1)), {"up": {2, 3}, "election": Election.UNCLEAN},
            {"isr": [2], "leader": 2, "leader_recovery_state": 1},
        ),
        # Nobody becomes eligible, and who was is forgotten.
        (BEFORE, {"isr": (1,)}, {"isr": [1]}),
        (SHORT, {}, {"eligible_leader_replicas": []}),
        # The last leader has no privilege.
        (LOST, {}, {}),
    ],
)  # fmt: skip
def test_where_no_eligible_replicas_are_kept(
    before: PartitionImage, given: dict[str, Any], record: dict[str, Any]
) -> None:
    assert changed(before, elr=False, **given) == record


@pytest.mark.parametrize(
    ("before", "given", "record"),
    [
        # A move begins: replicas are added, those that leave stand last.
        (
            BEFORE, {"replicas": (1, 4, 2, 3), "adding": (4,), "removing": (2, 3)},
            {
                "replicas": [1, 4, 2, 3], "adding_replicas": [4], "removing_replicas": [2, 3],
                "directories": [directory(n) for n in (1, 4, 2, 3)],
            },
        ),
        # It ends once those that stay are in sync; the leader goes on where it stays, with a new epoch.
        (
            replace(MOVING, leader=BrokerId(3)), {"isr": (1, 3, 4)},
            {
                "isr": [3, 4], "leader": 3, "replicas": [3, 4], "adding_replicas": [], "removing_replicas": [],
                "directories": [directory(3), directory(4)],
            },
        ),
        # A leader that leaves is followed by the first that stays.
        (
            MOVING, {"isr": (1, 4, 3)},
            {
                "isr": [4, 3], "leader": 3, "replicas": [3, 4], "adding_replicas": [], "removing_replicas": [],
                "directories": [directory(3), directory(4)],
            },
        ),
        # It does not end while one that is added, or where fewer stay one that stays, is not in sync.
        (MOVING, {"isr": (1, 3)}, {"isr": [1, 3]}),
        (MOVING, {"isr": (1, 4)}, {"isr": [1, 4]}),
        # Where as many come as leave, those that come are enough.
        (
            replace(MOVING, removing_replicas=(1,)), {"isr": (1, 4)},
            {
                "isr": [4], "leader": 4, "replicas": [3, 4, 2], "adding_replicas": [], "removing_replicas": [],
                "eligible_leader_replicas": [2, 3], "directories": [directory(n) for n in (3, 4, 2)],
            },
        ),
        # A move that only removes is made at once; so is one that reorders, without a new epoch.
        (
            BEFORE, {"replicas": (2, 3, 1), "removing": (1,)},
            {"isr": [2, 3], "leader": 2, "replicas": [2, 3], "directories": [directory(2), directory(3)]},
        ),
        (
            BEFORE, {"replicas": (3, 1, 2)},
            {"replicas": [3, 1, 2], "directories": [directory(n) for n in (3, 1, 2)]},
        ),
        # Called off: what was added leaves again.
        (
            MOVING, {"replicas": (3, 1, 2), "isr": (1, 2, 3), "adding": (), "removing": ()},
            {
                "leader": 1, "replicas": [3, 1, 2], "adding_replicas": [], "removing_replicas": [],
                "directories": [directory(n) for n in (3, 1, 2)],
            },
        ),
    ],
)  # fmt: skip
def test_reassignments(
    before: PartitionImage, given: dict[str, Any], record: dict[str, Any]
) -> None:
    assert changed(before, **given) == record
