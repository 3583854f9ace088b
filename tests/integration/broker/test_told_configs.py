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


def kafkas_answers() -> dict[tuple[str, str], int]:
    rows = [line.split("\t") for line in GOLDEN.read_text().splitlines()[1:]]
    return {(kind, key): int(code) for kind, key, code in rows}


KAFKA = kafkas_answers()


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[tuple[str, str], int]]:
    with Broker() as broker, Asking(broker.bootstrap_servers) as asking:
        yield {(kind, key): code for kind, key, code in asking.rows()}


@pytest.mark.parametrize("kind", RESOURCES)
def test_the_keys_that_are_told_are_kafkas(answers: dict[tuple[str, str], int], kind: str) -> None:
    told = {key for of, key in answers if of == kind and not key.startswith("millstream.")}
    assert told == {key for of, key in KAFKA if of == kind}


@pytest.mark.parametrize("kind", RESOURCES)
def test_what_is_told_can_be_set_where_kafka_takes_it(
    answers: dict[tuple[str, str], int], kind: str
) -> None:
    different = {
        key: (answers[of, key], code)
        for (of, key), code in KAFKA.items()
        if of == kind and answers[of, key] != code and (of, key) not in TAKEN_HERE
    }
    assert different == {}


def test_listeners_can_be_set_to_what_they_are_and_to_nothing_else() -> None:
    with Broker() as broker, Asking(broker.bootstrap_servers) as asking:
        told = asking.told("broker")["listeners"]
        assert asking.set_one("broker", "listeners", told) == 0
        assert asking.set_one("broker", "listeners", "PLAINTEXT://127.0.0.1:1") == 42
