"""The session of a node's controller: registers it, fences brokers that are silent, removes tokens that have expired.

Whether it leads the runner knows: where it does not, there is nothing to fence or to remove.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from millstream.broker.cluster.features import SUPPORTED_FEATURES
from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.services import ControllerClient
from millstream.controller.apis import CONTROLLER_REGISTRATION
from millstream.controller.controller import Controller
from millstream.errors import RetriableError
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.protocol.generated import controller_registration as registration
from millstream.runtime import Clock

_LOOK_S: Final = 1.0
"""A registration is missed by nobody for that long: it says how a controller is reached by tools, and at which levels it works."""


class ControllerSession:
    """One incarnation of this controller."""

    def __init__(
        self,
        controller: ControllerRunner,
        client: ControllerClient,
        identity: NodeIdentity,
        config: BrokerConfig,
        clock: Clock,
    ) -> None:
        self._controller = controller
        self._client = client
        self._identity = identity
        self._config = config
        self._clock = clock

    async def register(self, advertised: Sequence[Listener]) -> None:
        """Registers with the active controller. `advertised`: where others reach this one; empty where it listens to nobody."""
        request = registration.ControllerRegistrationRequest(
            controller_id=self._identity.node_id,
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
        )
        await self._client.ask(CONTROLLER_REGISTRATION, request)

    async def stay_registered(self, advertised: Sequence[Listener]) -> None:
        """Registers as soon as somebody leads, and again where the metadata have another incarnation of this controller, until cancelled."""
        while True:
            known = self._controller.image.controllers.get(self._identity.node_id)
            if known is None or known.incarnation_id != self._identity.incarnation_id:
                with contextlib.suppress(RetriableError):
                    await self.register(advertised)
            await asyncio.sleep(_LOOK_S)

    async def fence_expired(self) -> None:
        """Fences brokers that are not heard of, at the time each one's session ends, until cancelled."""
        while True:
            deadline_ms = self._controller.session_deadline_ms()
            now_ms = self._clock.now().monotonic_ms
            wait_ms = (
                self._config.broker_session_timeout_ms
                if deadline_ms is None
                else deadline_ms - now_ms
            )
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
            else:
                with contextlib.suppress(RetriableError):  # another one leads now, and fences
                    await self._controller.submit(Controller.handle_expired_sessions, None)

    async def remove_expired_tokens(self) -> None:
        """Removes expired delegation tokens from the metadata log, until cancelled."""
        while True:
            await asyncio.sleep(self._config.delegation_token_expiry_check_interval_ms / 1000)
            with contextlib.suppress(RetriableError):  # the next time is soon enough
                await self._controller.submit(Controller.handle_expired_delegation_tokens, None)
