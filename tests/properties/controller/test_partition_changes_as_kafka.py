"""Changes of partitions equal those of Kafka's PartitionChangeBuilder, on random partitions whose answers are recorded.

tests/oracle/partition_changes made them and says how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.controller.partitions.partition_change import (
    Election,
    PartitionRules,
    PartitionTarget,
    changed_partition,
)
from millstream.metadata.features import Capability
from millstream.metadata.image import PartitionImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionChangeRecord
from tests.oracle.partition_changes.judge import Case, read_cases

TOPIC = Uuid(b"t" * 16)


def directory(number: int) -> Uuid:
    return Uuid(bytes([*[0] * 7, 9, *[0] * 7, number]))


def image(before: Case) -> PartitionImage:
    return PartitionImage(
        partition=0,
        replicas=tuple(before["replicas"]),
        directories=tuple(map(directory, before["directories"])),
        isr=tuple(before["isr"]),
        eligible_leader_replicas=tuple(before["elr"]),
        last_known_eligible_leader_replicas=tuple(before["last_known_elr"]),
        removing_replicas=tuple(before["removing"]),
        adding_replicas=tuple(before["adding"]),
        leader=BrokerId(before["leader"]),
        leader_recovery_state=before["recovery"],
    )


def target(wanted: Case) -> PartitionTarget:
    def given(name: str) -> tuple[BrokerId, ...] | None:
        return tuple(wanted[name]) if name in wanted else None

    moved: Sequence[int] = wanted.get("moved", ())
    return PartitionTarget(
        isr=given("isr"),
        replicas=given("replicas"),
        removing=given("removing"),
        adding=given("adding"),
        leader_recovery_state=wanted.get("recovery"),
        unclean_replicas=given("unclean") or (),
        election=Election[wanted["election"]],
        directories={BrokerId(moved[0]): directory(moved[1])} if moved else {},
    )


def told(record: PartitionChangeRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    lists = {
        "isr": record.isr,
        "elr": record.eligible_leader_replicas,
        "last_known_elr": record.last_known_elr,
        "replicas": record.replicas,
        "removing": record.removing_replicas,
        "adding": record.adding_replicas,
        "directories": None
        if record.directories is None
        else [each[-1] for each in record.directories],
    }
    given = {name: value for name, value in lists.items() if value is not None}
    return {"leader": record.leader, "recovery": record.leader_recovery_state, **given}


def answer(case: Case) -> dict[str, Any]:
    rules = PartitionRules(
        lambda broker: broker in case["can_lead"],
        case["min_isr"],
        case["elr"],
        directory,
        keeps_directories=case["level"] >= Capability.DIRECTORY_ASSIGNMENT,
        shrinks_isr_within_epoch=case["level"] >= Capability.ISR_SHRINKS_WITHIN_EPOCH,
    )
    return told(changed_partition(TOPIC, image(case["before"]), target(case["target"]), rules))


def with_all_eligible(case: Case, answer: Case) -> Case:
    """The answer with those that are eligible after it, whether it says so or not; without those that are no replicas any more.

    Kafka keeps the latter; here they are forgotten (`find_eligible_replicas` says why).
    """
    replicas = answer.get("replicas", case["before"]["replicas"])
    eligible = answer.get("elr", case["before"]["elr"])
    known = {name: value for name, value in answer.items() if name != "elr"}
    if (
        known.keys() <= {"leader", "recovery"}
        and known.get("leader", -2) == -2
        and known.get("recovery", -1) == -1
    ):
        known = {}
    return {**known, "elr": [each for each in eligible if each in replicas]}


def test_partitions_change_as_in_kafka() -> None:
    cases = read_cases()
    different = [
        (case, kafkas, ours)
        for case, kafkas in cases
        if (ours := with_all_eligible(case, answer(case))) != with_all_eligible(case, kafkas)
    ]
    assert len(cases) == 3_000
    assert different == []
