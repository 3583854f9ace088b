"""`configs set` and `configs list` against a cluster in memory: what is printed of a change, and what a refusal is answered with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

import pytest
from click.testing import CliRunner, Result

from millstream.cli.cluster_options import ClusterOptions
from millstream.cli.configs.command import configs
from millstream.clients.admin import AlterConfig, ClusterDescription, ConfigEntry, Results
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import (
    ClusterAuthorizationFailed,
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    RequestTimedOut,
    UnsupportedVersion,
)
from millstream.metadata.config_resource import ConfigResource
from millstream.net.client.core.addresses import Address
from millstream.protocol.enums import ConfigSource

KNOWN = {
    name: ConfigEntry(
        name, "1", ConfigSource.DEFAULT_CONFIG, is_sensitive=False, is_read_only=fixed
    )
    for name, fixed in {"node.id": True, "broker.id": True, "log.cleaner.threads": False}.items()
}


class SettingsInMemory:
    """Refuses changes with `refusal`, and lists no resources, as Kafka before 4.1."""

    refusal: KafkaError | None = None
    look_up: KafkaError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, list[AlterConfig]], *, validate_only: bool
    ) -> Results[ConfigResource, None]:
        assert not validate_only
        return Results(dict.fromkeys(changes, self.refusal))

    def describe_configs(
        self, resources: Iterable[ConfigResource]
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        if self.look_up is not None:
            raise self.look_up
        return Results(dict.fromkeys(resources, KNOWN))

    def list_config_resources(self, _: object) -> list[ConfigResource]:
        raise UnsupportedVersion

    def list_topics(self) -> list[str]:
        return ["t"]

    def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("c", 1, [BrokerNode(1, Address("one", 9092))])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> SettingsInMemory:
    found = SettingsInMemory()
    monkeypatch.setattr(ClusterOptions, "admin", lambda _: found)
    return found


def run(*words: str) -> Result:
    return CliRunner().invoke(configs, words, catch_exceptions=False)


@pytest.mark.usefixtures("made")
def test_the_rows_of_a_change_hold_no_value() -> None:
    done = run("set", "broker:1", "ssl.keystore.password=hush", "--output", "json")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    assert rows == [{"resource": "broker:1", "key": "ssl.keystore.password", "result": "set"}]


@pytest.mark.parametrize(
    ("refusal", "hint"),
    [
        (InvalidRequest("Cannot update these configs dynamically: [node.id]"), "node.id is read when"),
        (InvalidConfig("Unknown config log.cleaner.thread"), "did you mean log.cleaner.threads?"),
    ],
)  # fmt: skip
def test_a_refusal_of_a_key_gets_a_hint(
    made: SettingsInMemory, refusal: KafkaError, hint: str
) -> None:
    made.refusal = refusal
    told = run("set", "broker:1", "broker.id=7", "log.cleaner.thread=2", "node.id=2")
    assert told.stderr.startswith(f"error: broker:1: {refusal}")
    assert hint in told.stderr
    assert "broker.id" not in told.stderr


@pytest.mark.parametrize(
    "refusal",
    [
        ClusterAuthorizationFailed("not allowed: node.id"),
        InvalidConfig("Invalid value x for configuration log.cleaner.threads"),
        InvalidConfig("log.node.id.file and node.id-s are something else"),
        RequestTimedOut(),
    ],
)
def test_another_refusal_is_told_as_it_is(made: SettingsInMemory, refusal: KafkaError) -> None:
    made.refusal = refusal
    told = run("set", "broker:1", "log.cleaner.threads=x", "node.id=2")
    assert told.stderr == f"error: {refusal}\n"


def test_a_look_up_that_fails_does_not_hide_the_refusal(made: SettingsInMemory) -> None:
    made.refusal = InvalidRequest("Cannot update these configs dynamically: [node.id]")
    made.look_up = RequestTimedOut("nobody answers")
    assert run("set", "broker:1", "node.id=2").stderr == f"error: {made.refusal}\n"


@pytest.mark.usefixtures("made")
def test_what_an_older_cluster_cannot_list_is_noted() -> None:
    listed = run("list", "topic", "group")
    assert "topic:t" in listed.stdout
    assert "list neither groups nor client metrics" in listed.stderr
    assert run("list", "topic").stderr == ""


@pytest.mark.parametrize("words", [("get",), ("set", "a=1"), ("unset", "a"), ("explain", "a")])
@pytest.mark.parametrize("resource", ["broker:2", "logger:2"])
def test_a_broker_that_is_not_up_is_named_at_once(
    made: SettingsInMemory, resource: str, words: tuple[str, ...]
) -> None:
    verb, *more = words
    done = run(verb, resource, *more)
    assert made.refusal is None
    assert (done.exit_code, done.stderr) == (5, "error: broker 2 is not up; those that are: 1\n")
