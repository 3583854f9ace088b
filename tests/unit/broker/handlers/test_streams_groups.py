"""StreamsGroupHeartbeat and StreamsGroupDescribe at the edge: when they are served, and what is told of missing topics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.handlers import streams_group_describe, streams_group_heartbeat
from millstream.broker.requests.handler_services import bound
from millstream.coordinator.group.streams.configured_topology import ConfiguredInternalTopic
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat
from millstream.errors import KafkaError, NotCoordinator, UnsupportedVersion
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from millstream.protocol.generated.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from tests.support.handler_services import GivenMetadata, handler_services, request_context

HEARTBEAT = StreamsGroupHeartbeatRequest(group_id="app", member_id="m", member_epoch=3)
INTERVAL_MS = 5_000


class World:
    """A node whose coordinator gives `answer`, or raises it."""

    def __init__(
        self, answer: Any, *, level: int = 1, protocols: tuple[str, ...] = ("streams",)
    ) -> None:
        self.answer = answer
        self.created: list[tuple[list[str], int]] = []
        self.failed: Mapping[str, str] = {}
        settings = {"group.coordinator.rebalance.protocols": ",".join(("classic", *protocols))}
        image = MetadataImage(features=MappingProxyType({"streams.version": level}))
        self.shards = self
        self.services = handler_services(
            config=DynamicConfig(broker_config(settings)),
            metadata=GivenMetadata(image),
            group_coordinator=self,
            streams_internal_topics=self,
        )

    async def ask(self, *_: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def create(
        self, topics: dict[str, ConfiguredInternalTopic], retry_after_ms: int, _client: object
    ) -> None:
        self.created.append((list(topics), retry_after_ms))

    def failures(self, names: Any) -> dict[str, str]:
        return {name: self.failed[name] for name in names if name in self.failed}

    def heartbeat(
        self, request: StreamsGroupHeartbeatRequest = HEARTBEAT
    ) -> StreamsGroupHeartbeatResponse:
        return self._answer(streams_group_heartbeat, request)

    def describe(self, *group_ids: str, operations: bool = False) -> list[DescribedGroup]:
        request = StreamsGroupDescribeRequest(
            group_ids=list(group_ids), include_authorized_operations=operations
        )
        try:
            return self._answer(streams_group_describe, request).groups
        except KafkaError as error:  # as dispatch answers it
            return streams_group_describe.failed(request, 0, error).groups

    def _answer(self, handler: ModuleType, request: object) -> Any:
        return asyncio.run(bound(handler.handle, self.services)(request, request_context(0)))


def beat(*missing: str) -> StreamsHeartbeat:
    status = [Status(3, f"Internal topics are missing: {', '.join(missing)}")] if missing else []
    response = StreamsGroupHeartbeatResponse(heartbeat_interval_ms=INTERVAL_MS, status=status)
    return StreamsHeartbeat(
        response, {name: ConfiguredInternalTopic(name, 1, 0, {}) for name in missing}
    )


def test_missing_topics_are_created_and_not_tried_again_for_two_heartbeats() -> None:
    world = World(beat("a", "b"))
    world.heartbeat()
    assert world.created == [(["a", "b"], 2 * INTERVAL_MS)]


def test_a_creation_that_failed_is_told_up_to_three_times() -> None:
    world = World(beat("a", "b", "c", "d", "e"))
    world.failed = {name: f"no {name}" for name in "abcd"}
    (status,) = world.heartbeat().status or []
    assert status.status_detail == (
        "Internal topics are missing: a, b, c, d, e; "
        "Creation failed: a (no a), b (no b), c (no c) and 1 more."
    )


def test_nothing_is_created_when_nothing_is_missing() -> None:
    world = World(beat())
    assert world.heartbeat().status == []
    assert world.created == []


@pytest.mark.parametrize("off", [{"level": 0}, {"protocols": ("classic", "consumer")}])
def test_streams_groups_are_served_when_the_feature_and_the_setting_say_so(off: Any) -> None:
    world = World(beat(), **off)
    assert world.heartbeat().error_code == UnsupportedVersion.code
    assert [group.error_code for group in world.describe("app")] == [UnsupportedVersion.code]


def test_a_bad_request_does_not_reach_the_coordinator() -> None:
    answer = World(AssertionError("nobody should ask")).heartbeat(
        StreamsGroupHeartbeatRequest(group_id="app")
    )
    assert (answer.error_code, answer.error_message) == (42, "MemberId can't be empty.")


def test_an_error_of_the_coordinator_is_the_answer() -> None:
    assert World(NotCoordinator()).heartbeat().error_code == NotCoordinator.code


def test_each_described_group_has_its_own_error() -> None:
    described = World(NotCoordinator()).describe("", "app")
    assert [(group.group_id, group.error_code) for group in described] == [("", 24), ("app", 16)]


def test_operations_are_told_of_groups_that_were_found() -> None:
    found = StreamsGroupDescribeResponse(groups=[DescribedGroup(group_id="app")])
    (group,) = World(found).describe("app", operations=True)
    assert group.authorized_operations == 3_400
