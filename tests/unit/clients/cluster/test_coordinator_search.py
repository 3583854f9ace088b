"""How a client looks for a coordinator whose topic the brokers create behind their first answer."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ClientConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import CoordinatorNotAvailable
from millstream.net.client.tasks import TaskScope
from millstream.net.network import system_environment
from millstream.protocol.generated.find_coordinator import Coordinator, FindCoordinatorResponse


class Brokers:
    """Answers with these error codes in turn. Is its own connection and the versions of it."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.versions = self

    def choose(self, _: object) -> int:
        return 6

    async def request(self, *_: object) -> FindCoordinatorResponse:
        found = Coordinator(key="g", node_id=7, error_code=self.codes.pop(0))
        return FindCoordinatorResponse(coordinators=[found])


def cluster_of(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    settings: dict[str, Any] = {"bootstrap_servers": "a:1", "retry_backoff_ms": 0}
    config = parse_settings(ClientConfig, settings)
    cluster = Cluster(config, TaskScope("test"), system_environment())

    async def connect() -> Brokers:
        return brokers

    async def refresh(_: int) -> None:
        return

    monkeypatch.setattr(cluster, "any_connection", connect)
    monkeypatch.setattr(cluster, "refresh_metadata", refresh)
    return cluster


async def test_a_coordinator_is_looked_for_again_at_once_while_its_topic_may_be_being_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = Brokers(15, 15, 15, 15, 0)
    assert await cluster_of(brokers, monkeypatch).coordinator("g") == 7


async def test_a_few_such_looks_are_one_try_of_whoever_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = Brokers(15, 15, 15, 15, 15, 0)
    with pytest.raises(CoordinatorNotAvailable):
        await cluster_of(brokers, monkeypatch).coordinator("g")
    assert brokers.codes == [0]


async def test_once_one_was_found_the_topic_exists_and_the_backoff_alone_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = Brokers(0, 15, 0)
    cluster = cluster_of(brokers, monkeypatch)
    await cluster.coordinator("g")
    with pytest.raises(CoordinatorNotAvailable):
        await cluster.coordinator("another")
    assert brokers.codes == [0]
