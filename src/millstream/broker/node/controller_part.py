"""The controller's part of a node: what it answers on its own listeners, and what it does unasked."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.controller_session import ControllerSession
from millstream.broker.node.shared_parts import SharedParts
from millstream.broker.requests.dispatch import Dispatcher
from millstream.broker.requests.handler_services import ControllerServices
from millstream.broker.requests.registry import CONTROLLER_HANDLERS
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.request_handler import Response


class _EnvelopedRequests:
    """Handles what stands in an envelope by the dispatcher that handles the envelope."""

    dispatcher: Dispatcher

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        return self.dispatcher.handle(frame, connection)


class ControllerPart:
    """A controller, whether it leads or not."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self._session = ControllerSession(
            shared.controller,
            shared.controller_client,
            shared.identity,
            shared.config,
            shared.clock,
        )
        self._enveloped_requests = _EnvelopedRequests()
        services = ControllerServices(
            apis=tuple(handler.api for handler in CONTROLLER_HANDLERS.values()),
            access=shared.access,
            clock=shared.clock,
            config=shared.dynamic_config,
            controller=shared.controller,
            disk_pool=shared.pool,
            enveloped_requests=self._enveloped_requests,
            failures=shared.failures,
            identity=shared.identity,
            long_work=shared.long_work,
            metadata=shared.controller,
            metrics=shared.metrics,
            quotas=shared.quotas,
            quorum_requests=shared.quorum_requests,
            store_checks=shared.store_checks,
        )
        self.dispatcher = Dispatcher(services, CONTROLLER_HANDLERS)
        self._enveloped_requests.dispatcher = self.dispatcher

    async def start(self, advertised: Sequence[Listener]) -> None:
        """Starts what the controller does of itself, and registers it.

        `advertised`: where others reach it; empty where it has no listener.
        """
        tasks, config = self._shared.tasks, self._shared.config
        if self._shared.is_alone:
            await self._session.maybe_register(advertised)
        tasks.start(self._session.stay_registered(advertised), "registration of the controller")
        tasks.start(self._session.fence_expired(), "broker sessions")
        if config.auto_leader_rebalance_enable:
            tasks.start(self._session.balance_leaders(), "balance of leaders")
        tasks.start(self._session.elect_uncleanly(), "unclean elections")
        if config.delegation_token_secret_key is not None:
            tasks.start(self._session.remove_expired_tokens(), "expired delegation tokens")
