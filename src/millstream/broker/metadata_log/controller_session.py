"""The session of a node's controller: registers it, fences silent brokers, balances leaders, elects them
uncleanly, removes expired tokens.

Whether it leads the runner knows: where it does not, there is nothing to fence or to remove.
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
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.node_state import NodeIdentity
from millstream.broker.services import ControllerClient
from millstream.controller.brokers.broker_lifecycle import plan_fence_expired
from millstream.controller.controller_registration import CONTROLLER_REGISTRATION
from millstream.controller.operation import Operation
from millstream.controller.partitions.balancing import plan_balance, plan_unclean_elections
from millstream.controller.security.delegation_tokens import plan_sweep_tokens
from millstream.errors import KafkaError, RetriableError
from millstream.metadata.features import METADATA_VERSION, Capability, can
from millstream.protocol.generated import controller_registration as registration
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
"""A registration is missed by nobody for that long: it says how a controller is reached by tools,
and at which levels it works."""
_LEVEL_LOOK_S: Final = 0.02
_FENCE_AGAIN_S: Final = 0.05
"""Ours: as soon as brokers ask again; a sync of the disk takes less."""
_SHORTEST_S: Final = 1
_SHORTEST_MS: Final = 10
"""Kafka takes an interval of 0 and less: whoever gives one wants it often, and not without end."""


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

    async def maybe_register(self, advertised: Sequence[Listener]) -> None:
        """Registers with the active controller, unless the metadata have this incarnation, or are at a level without
        registrations of controllers.

        Waits until the level is known, as Kafka does (`ControllerRegistrationManager`): whoever leads first
        is no active controller before it has written that. `advertised`: where others reach this one; empty
        where it listens to nobody.
        """
        while METADATA_VERSION not in self._controller.image.features:  # noqa: ASYNC110 - it comes with the log
            await asyncio.sleep(_LEVEL_LOOK_S)
        if self._lacks_registration():
            await self._client.ask(CONTROLLER_REGISTRATION, self._registration(advertised))

    def _registration(
        self, advertised: Sequence[Listener]
    ) -> registration.ControllerRegistrationRequest:
        return registration.ControllerRegistrationRequest(
            controller_id=self._identity.node_id,
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
        )

    async def stay_registered(self, advertised: Sequence[Listener]) -> None:
        """Registers once the level of the metadata has registrations of controllers, and again where they have another
        incarnation of this one, until cancelled.

        Whoever is refused asks again and votes meanwhile, as Kafka's (`ControllerRegistrationManager`): the
        quorum needs it.
        """
        refused: KafkaError | None = None
        while True:
            try:
                await self.maybe_register(advertised)
            except RetriableError:
                pass  # nobody leads just now
            except KafkaError as error:
                if type(error) is not type(refused):
                    _LOGGER.warning(
                        "the controller does not register this one, it is asked again: %s", error
                    )
                refused = error
            else:
                refused = None
            await asyncio.sleep(_LOOK_S)

    def _lacks_registration(self) -> bool:
        image = self._controller.image
        known = image.controllers.get(self._identity.node_id)
        is_known = known is not None and known.incarnation_id == self._identity.incarnation_id
        return not is_known and can(image, Capability.CONTROLLER_REGISTRATION)

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
                continue
            try:
                await self._controller.submit(plan_fence_expired, None)
            except RetriableError:
                # Another one leads now, and fences. Until this node has that on its disk, it tells nobody and refuses at
                # once: asked again without a pause, the loop would never come to write it.
                await asyncio.sleep(_FENCE_AGAIN_S)

    async def balance_leaders(self) -> None:
        """Gives leaderships back to preferred replicas now and then, until cancelled."""
        while True:
            await asyncio.sleep(
                max(_SHORTEST_S, self._config.leader_imbalance_check_interval_seconds)
            )
            await self._repeat_while_due(plan_balance)

    async def elect_uncleanly(self) -> None:
        """Elects leaders for partitions that would rather have any than none, now and then, until cancelled."""
        while True:
            await asyncio.sleep(
                max(_SHORTEST_MS, self._config.unclean_leader_election_interval_ms) / 1000
            )
            await self._repeat_while_due(plan_unclean_elections)

    async def _repeat_while_due(self, plan: Operation[None, bool]) -> None:
        """Repeats a run that is bounded while it says that more may be due: other requests come in between."""
        is_more_due = self._controller.leads()
        while is_more_due:
            try:
                is_more_due = await self._controller.submit(plan, None)
            except RetriableError:
                return  # another one leads now, and does it

    async def remove_expired_tokens(self) -> None:
        """Removes expired delegation tokens from the metadata log, until cancelled."""
        while True:
            await asyncio.sleep(self._config.delegation_token_expiry_check_interval_ms / 1000)
            with contextlib.suppress(RetriableError):  # the next time is soon enough
                await self._controller.submit(plan_sweep_tokens, None)
