"""Our assignors against the answers of Kafka's own: see tests/oracle/assignors/README.md."""

from __future__ import annotations

import base64
import os
import random
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from millstream.clients.core.assignors import ASSIGNORS, LastAssignment, MemberSubscription
from millstream.model import TopicPartition
from tests.oracle.assignors.judge import judged, random_case, stored

Case = dict[str, Any]  # Any: JSON
FRESH_CASES = 2_000


def partition(name: str) -> TopicPartition:
    topic, _, index = name.rpartition("-")
    return TopicPartition(topic, int(index))


def last_of(said: Case) -> LastAssignment:
    owned = frozenset(partition(name) for name in said["owned"])
    return (
        LastAssignment(owned, said["generation"]) if said["generation"] >= 0 else LastAssignment()
    )


def our_answer(case: Case) -> tuple[dict[str, list[str]], dict[str, str | None]]:
    """Assignment and user data by member."""
    assignor = ASSIGNORS[case["assignor"]]
    user_data = {
        name: assignor.user_data(frozenset(said["topics"]), last_of(said))
        for name, said in case["members"].items()
    }
    members = {
        name: MemberSubscription(
            topics=frozenset(said["topics"]),
            owned=frozenset(map(partition, said["owned"]))
            if assignor.is_cooperative
            else frozenset(),
            generation_id=said["generation"],
            group_instance_id=said["instance"],
            rack=said["rack"],
            user_data=user_data[name],
        )
        for name, said in case["members"].items()
    }
    topics = {name: [frozenset(r) for r in replicas] for name, replicas in case["topics"].items()}
    return (
        {
            member: sorted(str(tp) for tp in given)
            for member, given in assignor.assign(topics, members).items()
        },
        {
            name: None if data is None else base64.b64encode(data).decode()
            for name, data in user_data.items()
        },
    )


def broken_promises(case: Case, assignment: Mapping[str, list[str]]) -> list[str]:
    """Partitions of topics that their member does not want, or that another member holds with at least as much right."""
    members = case["members"]
    is_cooperative = case["assignor"] == "cooperative-sticky"
    return [
        f"{name} to {member}"
        for member, given in assignment.items()
        for name in given
        if partition(name).topic not in members[member]["topics"]
        or (
            is_cooperative
            and any(
                name in said["owned"] and said["generation"] >= members[member]["generation"]
                for other, said in members.items()
                if other != member
            )
        )
    ]


def check(pairs: Iterable[tuple[Case, Case]]) -> tuple[int, int]:
    """Equal to Java's, where Java keeps an assignor's promises; keeping them where it does not. Counts of both."""
    equal = different = 0
    for case, java in pairs:
        assignment, user_data = our_answer(case)
        assert user_data == java["user_data"], case
        if broken_promises(case, java["assignment"]):
            assert not broken_promises(case, assignment), case
            different += 1
        else:
            assert assignment == java["assignment"], case
            equal += 1
    return equal, different


def test_every_assignor_answers_as_kafkas_own() -> None:
    """In 37 of 1,200 cases Java's sticky assignors give a partition to a member that does not want its topic, or that
    another one still holds: moving a partition back to its former owner, and believing a claim that was outdone."""
    assert check(stored()) == (1_163, 37)


@pytest.mark.oracle
@pytest.mark.skipif(
    not os.environ.get("MILLSTREAM_KAFKA_CLASSPATH") or shutil.which("java") is None,
    reason="MILLSTREAM_KAFKA_CLASSPATH does not name Kafka's jars, or there is no java",
)
def test_cases_that_nobody_has_seen_are_answered_as_by_kafkas_own() -> None:
    chance = random.Random()
    cases = [random_case(chance) for _ in range(FRESH_CASES)]
    equal, different = check(zip(cases, judged(cases), strict=True))
    assert equal + different == FRESH_CASES
    assert different < FRESH_CASES / 20
