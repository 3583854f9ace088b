"""Replicas are told to be in their directories, so many a request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from millstream.broker.storage.directory_assignments import DirectoryAssignments
from millstream.errors import KafkaError, RequestTimedOut, StaleBrokerEpoch
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from tests.patience import until

DIRECTORY = Uuid(b"d" * 16)


@dataclass
class Session:
    broker_epoch: int = 9


@dataclass
class Controller:
    """Lets the second request fail."""

    error: KafkaError = field(default_factory=lambda: RequestTimedOut("slow"))
    told: list[list[int]] = field(default_factory=list)

    async def ask(
        self, _api: object, request: AssignReplicasToDirsRequest
    ) -> AssignReplicasToDirsResponse:
        (directory,) = request.directories
        (topic,) = directory.topics
        self.told.append([each.partition_index for each in topic.partitions])
        if len(self.told) == 2:
            raise self.error
        return AssignReplicasToDirsResponse()


@pytest.mark.parametrize("error", [RequestTimedOut("slow"), StaleBrokerEpoch("unregistered")])
async def test_thousands_of_replicas_are_told_in_requests_that_kafka_takes(
    error: KafkaError,
) -> None:
    """A refusal ends nothing: the broker serves its clients without."""
    controller = Controller(error)
    assignments = DirectoryAssignments(
        cast("Any", controller),  # Any: what it needs of each
        cast("Any", Session()),  # Any: as above
        BrokerId(1),
    )
    assignments.follow(MetadataImage())
    for number in range(5_000):
        assignments.on_assignment(TopicImage("t", Uuid(b"t" * 16)), number, DIRECTORY)
    running = asyncio.create_task(assignments.run())
    await until(lambda: len(controller.told) == 4)
    running.cancel()
    assert [len(each) for each in controller.told] == [2_250, 2_250, 2_250, 500]
    assert controller.told[1] == controller.told[2]


async def test_a_level_without_directories_is_told_nothing_and_all_of_it_once_it_is_raised() -> (
    None
):
    controller = Controller(RequestTimedOut("slow"))
    assignments = DirectoryAssignments(
        cast("Any", controller),  # Any: what it needs of each
        cast("Any", Session()),  # Any: as above
        BrokerId(1),
    )
    assignments.follow(MetadataImage(features={"metadata.version": 16}))
    running = asyncio.create_task(assignments.run())
    for number in range(3):
        assignments.on_assignment(TopicImage("t", Uuid(b"t" * 16)), number, DIRECTORY)
        await asyncio.sleep(0)
    assert controller.told == []
    assignments.follow(MetadataImage(features={"metadata.version": 17}))
    await until(lambda: len(controller.told) == 1)
    running.cancel()
    assert controller.told == [[0, 1, 2]]
