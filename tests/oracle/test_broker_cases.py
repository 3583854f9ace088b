"""Our broker against recorded answers of Kafka 4.3.1, case by case. See tests/oracle/broker/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.oracle.broker import servers, transcripts
from tests.oracle.broker.runner import Case, cases, modules, not_served, prepare, run_case

CASES = [found for module in modules() for found in cases(module)]


class Ours(NamedTuple):
    bootstrap: str
    keys: frozenset[int]


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    with servers.ours() as bootstrap:
        yield Ours(bootstrap, prepare(bootstrap))


@pytest.mark.parametrize("found", CASES, ids=lambda found: f"{found.module}/{found.name}")
def test_we_answer_as_kafka(found: Case, ours: Ours) -> None:
    missing = not_served(found, ours.keys)
    if missing:
        pytest.skip(f"{', '.join(missing)} not served: docs/compatibility.md says why")
    name = f"{found.module}/{found.name}"
    recorded = transcripts.read(found.module)[found.name]
    differences = transcripts.compare(name, recorded, run_case(found, ours.bootstrap))
    left = transcripts.unexplained(differences, transcripts.allowed_differences())
    assert not left, "\n".join(str(difference) for difference in left[:20])


def test_a_case_that_cannot_go_on_is_a_difference() -> None:
    left = transcripts.compare("m/c", [("Fetch v4", {"errorCode": 0})], [("broken off", "why")])
    assert [(d.step, d.path, d.kafka, d.ours) for d in left] == [
        ("step 1", "(label)", "Fetch v4", "broken off")
    ]


def test_a_difference_names_its_field() -> None:
    kafka = [("Fetch v4", {"topics": [{"errorCode": 6, "name": "t"}], "sessionId": 0})]
    ours = [("Fetch v4", {"topics": [{"errorCode": 31, "name": "t"}]})]
    assert [(d.path, d.kafka, d.ours) for d in transcripts.compare("m/c", kafka, ours)] == [
        ("topics[].errorCode", 6, 31),
        ("sessionId", 0, "(absent)"),
    ]


def test_the_list_of_differences_covers_what_it_names_and_nothing_else() -> None:
    entry = transcripts.Allowed("m/*", "because", "Fetch v*", "topics[].errorCode", kafka=("6",))
    covered = transcripts.Difference("m/c", "Fetch v4 late", "topics[].errorCode", 6, 31)
    assert transcripts.unexplained([covered], [entry]) == []
    other = transcripts.Difference("m/c", "Fetch v4 late", "topics[].name", "a", "b")
    third = transcripts.Difference("m/c", "Fetch v4 late", "topics[].errorCode", 7, 31)
    assert transcripts.unexplained([covered, other, third], [entry]) == [other, third]
