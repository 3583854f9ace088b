"""What heartbeats tell of a broker, by what it has read of the metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.node_state import NodeIdentity
from millstream.log.directory.log_directories import LogDirectories
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.features import METADATA_VERSION
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

ME, OURS, OTHER = BrokerId(1), Uuid(b"i" * 16), Uuid(b"o" * 16)
CORDONED = Uuid(b"d" * 16)


@dataclass
class Directories:
    cordoned_ids: list[Uuid] = field(default_factory=lambda: [CORDONED])


@dataclass
class Controller:
    """Grants the shutdown at once."""

    asked: list[BrokerHeartbeatRequest] = field(default_factory=list)

    async def ask(self, _api: object, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        self.asked.append(request)
        return BrokerHeartbeatResponse(should_shut_down=True)


@dataclass
class Metadata:
    image: MetadataImage


@pytest.mark.parametrize(
    ("incarnation", "level", "told"),
    [(OURS, 30, [CORDONED]), (OURS, 29, None), (OTHER, 30, None)],
    ids=["known", "an older level", "not caught up"],
)
async def test_cordoned_directories_are_told_where_controllers_know_of_them(
    incarnation: Uuid, level: int, told: list[Uuid] | None
) -> None:
    """A controller of an earlier release could not read the field, and the broker would end for want of a heartbeat."""
    registered = BrokerRegistration(broker_id=ME, broker_epoch=1, incarnation_id=incarnation)
    image = MetadataImage(features={METADATA_VERSION: level}, brokers={ME: registered})
    controller = Controller()
    session = BrokerSession(
        cast("Any", controller),  # Any: what the session needs of each
        Metadata(image),
        NodeIdentity(ME, "c", Uuid(b"n" * 16), OURS),
        broker_config({}),
        cast("LogDirectories", Directories()),
    )
    assert await session.leave(60)
    assert [each.cordoned_log_dirs for each in controller.asked] == [told]
