"""The table of broker settings against Kafka 4.3.1's own definitions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from millstream.broker.config.table import BROKER_CONFIGS
from millstream.metadata.config_key import UpdateMode

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka_4_3_1_broker_keys.tsv"

OTHER_DEFAULTS = {
    "node.id", "process.roles", "controller.listener.names",  # Kafka has none: a node starts without a file here
    "log.dir", "listeners",  # not reachable from outside, and not in /tmp
    "socket.send.buffer.bytes", "socket.receive.buffer.bytes", "replica.socket.receive.buffer.bytes",  # measured
    "max.connections", "max.connections.per.ip", "queued.max.request.bytes",  # Kafka has no limits
}  # fmt: skip


class KafkaKey(NamedTuple):
    name: str
    type: str
    default: str | None
    mode: UpdateMode
    internal: bool


def kafkas_keys() -> list[KafkaKey]:
    keys = []
    for line in GOLDEN.read_text().splitlines()[1:]:
        name, kind, default, mode, *internal = line.split("\t")
        keys.append(
            KafkaKey(
                name,
                kind,
                None if default == "null" else default.removeprefix("class "),
                UpdateMode(mode),
                internal == ["internal"],
            )
        )
    return keys


KAFKA = {key.name: key for key in kafkas_keys()}


def test_every_key_of_kafka_is_in_the_table() -> None:
    assert KAFKA.keys() - BROKER_CONFIGS.keys() == set()


def test_what_kafka_has_no_default_for_is_told_as_given() -> None:
    required = {name for name, key in KAFKA.items() if key.default == "REQUIRED"}
    assert {name for name, key in BROKER_CONFIGS.items() if key.is_always_given} == required


def test_keys_that_kafka_does_not_know_have_our_name_in_them() -> None:
    """Throttles are dynamic only, and rules belong to the authorizer: Kafka defines them elsewhere."""
    ours = {name for name in BROKER_CONFIGS if name not in KAFKA}
    assert {name for name in ours if not name.startswith("millstream.")} == {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "super.users",
        "allow.everyone.if.no.acl.found",
    }


@pytest.mark.parametrize("name", sorted(KAFKA))
def test_types_and_defaults_are_kafkas(name: str) -> None:
    ours, kafkas = BROKER_CONFIGS[name], KAFKA[name]
    assert ours.type.name == kafkas.type
    assert (ours.default_text == kafkas.default) == (name not in OTHER_DEFAULTS)


@pytest.mark.parametrize("name", sorted(KAFKA))
def test_what_may_change_while_a_broker_runs_is_as_in_kafka(name: str) -> None:
    """What Kafka tells as changeable for one broker, but only takes with a listener's prefix, has a mode of its own."""
    ours, kafkas = BROKER_CONFIGS[name], KAFKA[name]
    mode = UpdateMode.PER_BROKER if ours.dynamic is UpdateMode.PER_LISTENER else ours.dynamic
    assert mode is kafkas.mode
    assert ours.internal == kafkas.internal


@pytest.mark.parametrize("name", sorted(KAFKA))
def test_passwords_are_never_told(name: str) -> None:
    assert BROKER_CONFIGS[name].sensitive == (KAFKA[name].type == "PASSWORD")
