"""The session of the broker with the controller: registers, sends heartbeats, asks for a controlled shutdown.

fenced -> (first heartbeat that has seen its own registration) -> unfenced -> ... -> controlled shutdown -> fenced
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.services import ControllerClient, Metadata
from millstream.controller.apis import (
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
)
from millstream.errors import RequestTimedOut, RetriableError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.model import Uuid
from millstream.protocol.generated import broker_registration as registration
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from millstream.runtime import Clock

_RETRY_S: Final = 0.05
_CATCH_UP_S: Final = 0.01
"""Kafka sends heartbeats so often until the broker has caught up (`BrokerLifecycleManager`); here the image is looked at."""


class BrokerSession:
    """One incarnation of this broker."""

    def __init__(
        self,
        controller: ControllerClient,
        metadata: Metadata,
        identity: NodeIdentity,
        config: BrokerConfig,
        clock: Clock,
    ) -> None:
        self._controller = controller
        self._metadata = metadata
        self._identity = identity
        self._config = config
        self._clock = clock
        self.broker_epoch = -1
        self._offline_directory_ids: tuple[Uuid, ...] = ()
        self._wants_shut_down = False
        self._wants_fence = True
        """Until the logs are open: a broker that leads must be able to answer."""

    async def register(
        self,
        advertised: Sequence[Listener],
        previous_broker_epoch: int,
        directory_ids: Sequence[Uuid],
    ) -> None:
        """Registers; returns when this node has read of it in the metadata. The broker is fenced still. Raises what the controller refuses with."""
        request = registration.BrokerRegistrationRequest(
            broker_id=self._identity.node_id,
            cluster_id=self._identity.cluster_id,
            incarnation_id=self._identity.incarnation_id,
            listeners=[
                registration.Listener(
                    name=each.name,
                    host=each.host,
                    port=each.port,
                    security_protocol=SecurityProtocol.PLAINTEXT,
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
        limit_ms = self._config.initial_broker_registration_timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                response = await self._controller.ask(BROKER_REGISTRATION, request)
        except TimeoutError:
            raise RequestTimedOut(
                f"the controller did not register this broker within {limit_ms} ms "
                "(initial.broker.registration.timeout.ms)"
            ) from None
        self.broker_epoch = response.broker_epoch
        while self._metadata.image.offset < self.broker_epoch:  # noqa: ASYNC110 - it comes with the log
            await asyncio.sleep(_CATCH_UP_S)

    async def unfence(self) -> None:
        """Says that this broker may lead; returns when the controller agrees."""
        self._wants_fence = False
        while True:
            with contextlib.suppress(RetriableError):
                if not (await self._heartbeat()).is_fenced:
                    return
            await asyncio.sleep(_RETRY_S)

    async def keep_alive(self) -> None:
        """Sends heartbeats until cancelled."""
        while True:
            await asyncio.sleep(self._config.broker_heartbeat_interval_ms / 1000)
            try:
                await self._heartbeat()
            except RetriableError:
                continue  # the next heartbeat tries again; the session is longer than several

    async def report_offline(self, directory_ids: Sequence[Uuid]) -> None:
        """Reports failed data directories of this incarnation: the controller takes their leaderships away."""
        self._offline_directory_ids = tuple(directory_ids)
        if self.broker_epoch >= 0:
            with contextlib.suppress(RetriableError):  # the next heartbeat tells it again
                await self._heartbeat()

    async def leave(self, timeout_s: float) -> bool:
        """Gives leaderships away before this broker stops (controlled shutdown). False when time ran out first."""
        # From now on in every heartbeat: one of `keep_alive` that lacked it would unfence this broker again.
        self._wants_shut_down = True
        try:
            async with asyncio.timeout(timeout_s):
                while not (await self._heartbeat()).should_shut_down:  # noqa: ASYNC110 - the controller answers, it does not call
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError:
            return False
        return True

    async def _heartbeat(self) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._identity.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata.image.offset,
            want_fence=self._wants_fence,
            want_shut_down=self._wants_shut_down,
            offline_log_dirs=list(self._offline_directory_ids),
        )
        return await self._controller.ask(BROKER_HEARTBEAT, request)
