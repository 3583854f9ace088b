"""The session of a broker: what its registration waits for, and what it makes of the controller's refusals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.node_state import NodeIdentity
from millstream.broker.services import ControllerClient, Metadata
from millstream.errors import (
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    MillstreamError,
    NotController,
    RequestTimedOut,
    StaleBrokerEpoch,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.broker_heartbeat import BrokerHeartbeatResponse
from millstream.protocol.generated.broker_registration import BrokerRegistrationResponse
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time

REGISTERED = BrokerRegistrationResponse(broker_epoch=7)
ALIVE = DuplicateBrokerRegistration("Another broker with id 1 is alive")
IDENTITY = NodeIdentity(BrokerId(1), "cluster", Uuid(bytes(16)), Uuid(bytes(16)))


@dataclass
class Refusing:
    """A controller that refuses so many times and agrees then."""

    refusals: Sequence[MillstreamError]
    agreed: BrokerRegistrationResponse | BrokerHeartbeatResponse
    asked: int = 0

    async def ask(self, *_: object) -> BrokerRegistrationResponse | BrokerHeartbeatResponse:
        self.asked += 1
        if self.asked <= len(self.refusals):
            raise self.refusals[self.asked - 1]
        return self.agreed


class Applied:
    """Metadata in which every registration is seen, and the directories of a broker that has cordoned none."""

    image = MetadataImage(
        brokers={
            IDENTITY.node_id: BrokerRegistration(
                broker_id=IDENTITY.node_id, broker_epoch=7, incarnation_id=IDENTITY.incarnation_id
            )
        }
    )
    cordoned_ids: Sequence[Uuid] = ()


def registering(*refusals: MillstreamError) -> Refusing:
    return Refusing(refusals, REGISTERED)


def answering(*refusals: MillstreamError) -> Refusing:
    """Answers heartbeats."""
    return Refusing(refusals, BrokerHeartbeatResponse(should_shut_down=True))


def session_with(controller: Refusing) -> BrokerSession:
    return BrokerSession(
        cast("ControllerClient", controller),
        cast("Metadata", Applied()),
        IDENTITY,
        broker_config({}),
        cast("LogDirectories", Applied()),
    )


def register(controller: Refusing) -> tuple[int, int]:
    """Returns the broker's epoch, and the milliseconds until it is registered."""

    async def story() -> tuple[int, int]:
        session = session_with(controller)
        await session.register([], -1, [])
        return session.broker_epoch, VirtualClock().now().monotonic_ms

    return run_in_virtual_time(story())


def test_a_broker_waits_until_the_session_of_its_killed_incarnation_is_over() -> None:
    assert register(registering(*[ALIVE] * 4)) == (7, 8_000)


def test_a_controller_that_did_not_commit_a_registration_in_time_is_asked_again() -> None:
    """The same incarnation keeps its epoch, so that a registration may come twice."""
    assert register(registering(RequestTimedOut("not committed in time"))) == (7, 2_000)


@pytest.mark.parametrize(
    ("refusal", "error", "sentence"),
    [
        (ALIVE, DuplicateBrokerRegistration, "another broker with id 1 is alive: give this one"),
        (RequestTimedOut("not committed"), RequestTimedOut, r"within 60000 ms .*: not committed"),
    ],
)
def test_what_does_not_pass_within_a_minute_is_told(
    refusal: MillstreamError, error: type[MillstreamError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        register(registering(*[refusal] * 100))


def test_a_broker_of_another_cluster_is_refused_at_once() -> None:
    controller = registering(InconsistentClusterId("this is another cluster"))
    with pytest.raises(InconsistentClusterId):
        register(controller)
    assert controller.asked == 1


def test_a_broker_that_the_controller_has_forgotten_goes_on_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    controller = answering(StaleBrokerEpoch(), NotController(), StaleBrokerEpoch())

    async def story() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60):
                await session_with(controller).keep_alive()

    with caplog.at_level(logging.WARNING):
        run_in_virtual_time(story())
    assert controller.asked == 29, "every two seconds, whatever the answer is"
    assert caplog.text.count("refuses the heartbeats of this broker") == 1


def test_a_controlled_shutdown_goes_on_when_the_controller_moves() -> None:
    controller = answering(NotController())
    assert run_in_virtual_time(session_with(controller).leave(60))
    assert controller.asked == 2


def test_a_broker_that_the_controller_has_forgotten_may_stop() -> None:
    controller = answering(StaleBrokerEpoch())
    assert run_in_virtual_time(session_with(controller).leave(60))
    assert controller.asked == 1


@pytest.mark.parametrize(("level", "told"), [(16, 0), (17, 1), (30, 1)])
def test_a_broker_tells_its_directories_when_the_cluster_has_them(level: int, told: int) -> None:
    """Below 3.7-IV2 registrations have none. Kafka: `BrokerRegistrationTracker`."""
    controller = registering()

    async def story() -> None:
        session = session_with(controller)
        await session.register([], -1, [Uuid(b"d" * 16)])
        task = asyncio.create_task(session.tell_directories())
        session.follow(replace(Applied.image, features={"metadata.version": level}))
        await asyncio.sleep(60)
        task.cancel()

    run_in_virtual_time(story())
    assert controller.asked == 1 + told


def test_a_registration_that_has_directories_is_not_sent_again() -> None:
    controller = registering()
    (known,) = Applied.image.brokers.values()
    with_directories = replace(known, log_directories=(Uuid(b"d" * 16),))

    async def story() -> None:
        session = session_with(controller)
        await session.register([], -1, [Uuid(b"d" * 16)])
        task = asyncio.create_task(session.tell_directories())
        session.follow(replace(Applied.image, brokers={IDENTITY.node_id: with_directories}))
        await asyncio.sleep(60)
        task.cancel()

    run_in_virtual_time(story())
    assert controller.asked == 1


def test_directories_that_no_controller_took_are_told_again() -> None:
    controller = Refusing([], REGISTERED)

    async def story() -> None:
        session = session_with(controller)
        await session.register([], -1, [Uuid(b"d" * 16)])
        controller.refusals = [NotController("moved")] * 3
        task = asyncio.create_task(session.tell_directories())
        session.follow(Applied.image)
        await asyncio.sleep(60)
        task.cancel()

    run_in_virtual_time(story())
    assert controller.asked == 4
