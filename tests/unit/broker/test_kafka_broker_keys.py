"""The table of broker settings against Kafka 4.3.1's own definitions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from millstream.broker.config_strangers import stranger_update_mode, why_without_effect
from millstream.broker.config_table import BROKER_CONFIGS
from millstream.metadata.config_key import UpdateMode

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka_4_3_1_broker_keys.tsv"

OTHER_DEFAULTS = {
    "node.id", "process.roles", "controller.listener.names",  # Kafka has none: a node starts without a file here
    "log.dir", "listeners",  # not reachable from outside, and not in /tmp
    "socket.send.buffer.bytes", "socket.receive.buffer.bytes",  # measured
    "max.connections", "max.connections.per.ip", "queued.max.request.bytes",  # Kafka has no limits
    "offsets.topic.replication.factor", "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr", "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",  # a node by itself cannot have three replicas
}  # fmt: skip
OTHER_UPDATE_MODES = {"listeners", "listener.security.protocol.map"}
"""Listeners are fixed at the start."""


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
                None if default == "null" else default,
                UpdateMode(mode),
                internal == ["internal"],
            )
        )
    return keys


KAFKA = {key.name: key for key in kafkas_keys()}
SHARED = sorted(KAFKA.keys() & BROKER_CONFIGS.keys())


def test_every_key_of_kafka_is_in_the_table_or_has_a_reason() -> None:
    assert [
        name for name in KAFKA if name not in BROKER_CONFIGS and not why_without_effect(name)
    ] == []


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


@pytest.mark.parametrize("name", SHARED)
def test_types_and_defaults_are_kafkas(name: str) -> None:
    ours, kafkas = BROKER_CONFIGS[name], KAFKA[name]
    assert ours.type.name == kafkas.type
    assert (ours.default_text == kafkas.default) == (name not in OTHER_DEFAULTS)


@pytest.mark.parametrize("name", SHARED)
def test_what_may_change_while_a_broker_runs_is_as_in_kafka(name: str) -> None:
    ours, kafkas = BROKER_CONFIGS[name], KAFKA[name]
    assert (ours.dynamic is kafkas.mode) == (name not in OTHER_UPDATE_MODES)
    assert ours.internal == kafkas.internal


def test_keys_without_effect_may_change_where_kafka_lets_them() -> None:
    """But for TLS and SASL, which Kafka takes with a listener's prefix only."""
    different = [
        name
        for name, key in KAFKA.items()
        if name not in BROKER_CONFIGS
        and not name.startswith(("ssl.", "sasl."))
        and stranger_update_mode(name) is not key.mode
    ]
    assert different == []
