"""What DescribeConfigs tells can be set again wherever Kafka 4.3.1 takes it: each key alone, and all of a resource at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.testing import Broker
from tests.golden.record_kafka_configs import RESOURCES, Asking

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka_4_3_1_config_changes.tsv"
TAKEN_HERE = {
    ("broker", "listener.security.protocol.map"),
    ("broker", "ssl.engine.factory.class"),
}
"""Kafka cannot take the map that it tells: the default lacks the controller's listener, which only a map that nobody set implies.
And it looks for the class of the name that is given, here the empty one."""


STRICTER_HERE = {"log.flush.interval.ms", "log.retention.ms"}
"""Kafka takes any negative number, as "no limit"."""
LAXER_HERE = {
    "log.local.retention.ms",
    "metric.reporters",
    "principal.builder.class",
}
"""Without effect here: classes are not looked up, nor directories, and nothing is compared with the retention of a topic."""

Answers = dict[tuple[str, str], tuple[int, str]]


def kafkas_answers() -> Answers:
    rows = [line.split("\t") for line in GOLDEN.read_text().splitlines()[1:]]
    return {(kind, key): (int(code), samples) for kind, key, code, samples in rows}


KAFKA = kafkas_answers()


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with Broker() as broker, Asking(broker.bootstrap_servers) as asking:
        yield {(kind, key): (code, samples) for kind, key, code, samples in asking.rows()}


@pytest.mark.parametrize("kind", RESOURCES)
def test_the_keys_that_are_told_are_kafkas(answers: Answers, kind: str) -> None:
    told = {key for of, key in answers if of == kind and not key.startswith("millstream.")}
    assert told == {key for of, key in KAFKA if of == kind}


@pytest.mark.parametrize("kind", RESOURCES)
def test_what_is_told_can_be_set_where_kafka_takes_it(answers: Answers, kind: str) -> None:
    different = {
        key: (answers[of, key][0], code)
        for (of, key), (code, _) in KAFKA.items()
        if of == kind and answers[of, key][0] != code and (of, key) not in TAKEN_HERE
    }
    assert different == {}


@pytest.mark.parametrize("kind", RESOURCES)
def test_other_values_are_taken_and_refused_as_by_kafka(answers: Answers, kind: str) -> None:
    different = {
        key: (answers[of, key][1], samples)
        for (of, key), (_, samples) in KAFKA.items()
        if of == kind
        and (of, key) not in TAKEN_HERE
        and key not in STRICTER_HERE | LAXER_HERE
        and answers[of, key][1] != samples
    }
    assert different == {}


@pytest.mark.parametrize("key", sorted(STRICTER_HERE | LAXER_HERE))
def test_where_values_are_judged_otherwise_only_the_side_that_is_named_is(
    answers: Answers, key: str
) -> None:
    _, ours = answers["broker", key]
    _, kafkas = KAFKA["broker", key]
    stricter = {
        ours_takes != "0" and kafka_takes == "0"
        for ours_takes, kafka_takes in zip(ours.split(","), kafkas.split(","), strict=True)
        if ours_takes != kafka_takes
    }
    assert stricter == {key in STRICTER_HERE}


def test_listeners_can_be_set_to_what_they_are_and_to_nothing_else() -> None:
    with Broker() as broker, Asking(broker.bootstrap_servers) as asking:
        told = asking.told("broker")["listeners"]
        assert asking.set_one("broker", "listeners", told) == 0
        assert asking.set_one("broker", "listeners", "PLAINTEXT://127.0.0.1:1") == 42
