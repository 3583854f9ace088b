"""The session of the broker with the controller: registers, sends heartbeats, asks for a controlled shutdown.

fenced -> (first heartbeat that has seen its own registration) -> unfenced -> ... -> controlled shutdown -> fenced
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.node_state import NodeIdentity
from millstream.broker.services import ControllerClient, Metadata
from millstream.controller.brokers.broker_lifecycle import BROKER_HEARTBEAT
from millstream.controller.brokers.registration import BROKER_REGISTRATION
from millstream.errors import (
    DuplicateBrokerRegistration,
    KafkaError,
    RequestTimedOut,
    RetriableError,
)
from millstream.log.directory.log_directories import LogDirectories
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.model import Uuid
from millstream.protocol.generated import broker_registration as registration
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

_LOGGER = logging.getLogger(__name__)
_RETRY_S: Final = 0.05
"""Ours: so often it asks while it starts and stops, when others wait for it."""
_CATCH_UP_S: Final = 0.01
"""Kafka sends heartbeats so often until the broker has caught up
(`BrokerLifecycleManager`); here the image is looked at."""


class BrokerSession:
    """One incarnation of this broker."""

    def __init__(
        self,
        controller: ControllerClient,
        metadata: Metadata,
        identity: NodeIdentity,
        config: BrokerConfig,
        directories: LogDirectories,
    ) -> None:
        self._controller = controller
        self._metadata = metadata
        self._identity = identity
        self._config = config
        self._directories = directories
        self.broker_epoch = -1
        self._offline_directory_ids: tuple[Uuid, ...] = ()
        self._registration: registration.BrokerRegistrationRequest | None = None
        """What this incarnation has registered with."""
        self._directories_are_missed = asyncio.Event()
        self._wants_shut_down = False
        self._wants_fence = True
        """Until the logs are open: a broker that leads must be able to answer."""

    async def register(
        self,
        advertised: Sequence[Listener],
        previous_broker_epoch: int,
        directory_ids: Sequence[Uuid],
    ) -> None:
        """Registers; returns when this node has read of it in the metadata. The broker is fenced still.

        Raises what the controller refuses with for good, and what it refused with last where that did not pass in time.
        """
        request = registration.BrokerRegistrationRequest(
            broker_id=self._identity.node_id,
            cluster_id=self._identity.cluster_id,
            incarnation_id=self._identity.incarnation_id,
            listeners=[
                registration.Listener(
                    name=each.name,
                    host=each.host,
                    port=each.port,
                    security_protocol=self._config.protection.protocols[each.name],
                )
                for each in advertised
            ],
            features=[
                registration.Feature(
                    name=name,
                    min_supported_version=levels.lowest,
                    max_supported_version=levels.highest,
                )
                for name, levels in SUPPORTED_FEATURES.items()
            ],
            rack=self._config.broker_rack,
            log_dirs=list(directory_ids),
            previous_broker_epoch=previous_broker_epoch,
        )
        self._registration = request
        self.broker_epoch = (await self._ask_until_registered(request)).broker_epoch
        while not self._has_caught_up():  # noqa: ASYNC110 - it comes with the log
            await asyncio.sleep(_CATCH_UP_S)

    async def _ask_until_registered(
        self, request: registration.BrokerRegistrationRequest
    ) -> registration.BrokerRegistrationResponse:
        """Asks until it is registered, as often as Kafka does: an earlier incarnation that was killed is
        alive until its session ends.
        """
        limit_ms = self._config.initial_broker_registration_timeout_ms
        refusal: RetriableError | DuplicateBrokerRegistration | None = None
        try:
            async with asyncio.timeout(limit_ms / 1000):
                while True:
                    try:
                        return await self._controller.ask(BROKER_REGISTRATION, request)
                    except (RetriableError, DuplicateBrokerRegistration) as error:
                        if type(error) is not type(refusal):  # once, not every two seconds
                            _LOGGER.info("this broker is not registered yet: %s", error)
                        refusal = error
                    await asyncio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
        except TimeoutError:
            if isinstance(refusal, DuplicateBrokerRegistration):
                # The response has a code and no sentence.
                raise DuplicateBrokerRegistration(
                    f"another broker with id {self._identity.node_id} is alive: give this one its own node.id"
                ) from None
            raise RequestTimedOut(
                f"the controller did not register this broker within {limit_ms} ms "
                f"(initial.broker.registration.timeout.ms): {refusal or 'it has not answered'}"
            ) from None

    def follow(self, image: MetadataImage) -> None:
        """Takes note of a cluster that was raised to a level with directories: they are missed in the
        registration then (KIP-858).
        """
        known = image.brokers.get(self._identity.node_id)
        is_mine = known is not None and known.incarnation_id == self._identity.incarnation_id
        lacks = is_mine and known is not None and not known.log_directories
        if lacks and can(image, Capability.DIRECTORY_ASSIGNMENT):
            self._directories_are_missed.set()

    async def tell_directories(self) -> None:
        """Registers once more whenever its directories are missed, as Kafka does (`BrokerRegistrationTracker`), until
        cancelled. The epoch stays.

        Not with the heartbeats: a registration that waits for a controller would end the session.
        """
        while True:
            await self._directories_are_missed.wait()
            self._directories_are_missed.clear()
            assert self._registration is not None, "the image has the registration of this broker"
            _LOGGER.info("the cluster has directories of replicas now: this broker tells its own")
            try:
                await self._controller.ask(BROKER_REGISTRATION, self._registration)
            except KafkaError as error:
                # An image that came while it was asked may have set it again; the next look is soon enough, too.
                _LOGGER.warning("the controller takes no directories of this broker: %s", error)
                await asyncio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
                self.follow(self._metadata.image)

    async def unfence(self) -> None:
        """Says that this broker may lead; returns when the controller agrees."""
        self._wants_fence = False
        while True:
            with contextlib.suppress(KafkaError):  # the heartbeats that follow tell of refusals
                if not (await self._heartbeat()).is_fenced:
                    return
            await asyncio.sleep(_RETRY_S)

    async def keep_alive(self) -> None:
        """Sends heartbeats until cancelled.

        After an error the next one is an interval later, as Kafka's are: a session is several long.
        """
        refused: KafkaError | None = None
        is_lost = False
        while True:
            await asyncio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
            try:
                await self._heartbeat()
            except RetriableError as error:
                if not is_lost:
                    _LOGGER.warning("no controller takes the heartbeats of this broker: %s", error)
                is_lost = True
                continue
            except KafkaError as error:
                # Somebody has unregistered this broker, or another one took its id. Clients that reach it are served still.
                if type(error) is not type(refused):
                    _LOGGER.warning(
                        "the controller refuses the heartbeats of this broker until it is started again: %s",
                        error,
                    )
                refused = error
            else:
                if is_lost:
                    _LOGGER.info("a controller takes the heartbeats of this broker again")
                refused, is_lost = None, False

    async def report_offline(self, directory_ids: Sequence[Uuid]) -> None:
        """Reports failed data directories of this incarnation: the controller takes their leaderships away."""
        self._offline_directory_ids = tuple(directory_ids)
        if self.broker_epoch >= 0:
            with contextlib.suppress(KafkaError):  # the next heartbeat tells it again
                await self._heartbeat()

    async def leave(self, timeout_s: float) -> bool:
        """Gives leaderships away before this broker stops (controlled shutdown). False when time ran out first."""
        # From now on in every heartbeat: one of `keep_alive` that lacked it would unfence this broker again.
        self._wants_shut_down = True
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._ask_to_shut_down():  # noqa: ASYNC110 - the controller answers, it does not call
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError:
            return False
        return True

    async def _ask_to_shut_down(self) -> bool:
        """Returns whether this broker may stop now."""
        try:
            return (await self._heartbeat()).should_shut_down
        except RetriableError:
            return False  # the controller moves
        except KafkaError:
            return True  # it has no session with this broker any more, and no partition that this one leads

    def _cordoned_directories(self) -> list[Uuid] | None:
        """None where the cluster runs at a level whose controllers know nothing of it, and before
        the registration is known.
        """
        if not self._has_caught_up() or not can(
            self._metadata.image, Capability.CORDONED_DIRECTORIES
        ):
            return None
        return self._directories.cordoned_ids

    def _has_caught_up(self) -> bool:
        """Whether the registration is in the image: it stands behind the changes of partitions that it led to."""
        known = self._metadata.image.brokers.get(self._identity.node_id)
        return known is not None and known.incarnation_id == self._identity.incarnation_id

    async def _heartbeat(self) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._identity.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata.image.offset,
            want_fence=self._wants_fence,
            want_shut_down=self._wants_shut_down,
            offline_log_dirs=list(self._offline_directory_ids),
            cordoned_log_dirs=self._cordoned_directories(),
        )
        return await self._controller.ask(BROKER_HEARTBEAT, request)
