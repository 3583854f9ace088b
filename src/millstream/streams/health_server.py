"""Answers probes about an application: whether its process is to be started again, and whether its tasks run.

`health_of` decides from the state alone; `HealthServer` serves it from the event loop of the application, so that a
process whose loop stands still does not answer, which is how a probe finds out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from types import TracebackType
from typing import Final, Protocol, Self

from millstream.errors import ConfigError
from millstream.net.client.tasks import TaskScope
from millstream.net.server.http_server import HttpResponse, HttpServer, one_piece, plain
from millstream.streams.application.states import ApplicationState

_ENDED: Final = frozenset(
    {ApplicationState.PENDING_ERROR, ApplicationState.ERROR, ApplicationState.NOT_RUNNING}
)


class ProbedApplication(Protocol):
    """The part of `KafkaStreams` that tells how it is."""

    @property
    def state(self) -> ApplicationState: ...

    @property
    def is_paused(self) -> bool: ...

    @property
    def error(self) -> BaseException | None: ...

    @property
    def tasks(self) -> Mapping[str, Collection[object]]: ...


@dataclass(frozen=True, slots=True)
class ApplicationHealth:
    """`is_alive`: it would be wrong to start the process again. `is_ready`: its tasks run, and stores can be asked."""

    state: str
    is_alive: bool
    is_ready: bool
    is_paused: bool
    tasks: int
    error: str | None


def health_of(application: ProbedApplication) -> ApplicationHealth:
    """Returns how an application is.

    One that has yet to be started, restores or shares out its tasks is alive and not ready.
    """
    state, error = application.state, application.error
    return ApplicationHealth(
        state=state.value,
        is_alive=state not in _ENDED,
        is_ready=state is ApplicationState.RUNNING,
        is_paused=application.is_paused,
        tasks=sum(map(len, application.tasks.values())),
        error=None if error is None else f"{type(error).__name__}: {error}",
    )


def without_text(health: ApplicationHealth) -> ApplicationHealth:
    """Returns the same with the name of an error alone."""
    return replace(health, error=health.error and health.error.partition(":")[0])


class HealthServer:
    """Answers `/livez`, `/readyz` and `/healthz` while its `async with` block lasts, beside the application
    and from before its start.

    It binds its port when it is made. There is no login: keep the port on a private network. What is told beyond this
    machine has the name of an error and not its text, in which keys and values may stand.
    """

    def __init__(
        self, application: ProbedApplication, *, port: int, host: str = "127.0.0.1"
    ) -> None:
        """`host`: the address to listen at, "0.0.0.0" in a container. Raises ConfigError where that cannot be."""
        self._application = application
        try:
            self._server = HttpServer(host, port)
        except ConfigError as error:
            raise ConfigError(
                f"the health server cannot listen at {host}:{port} ({error.__cause__ or error}): give a free port of an address of "
                "this machine, or 0 for any free one"
            ) from error
        self._scope = TaskScope("health server")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    @property
    def url(self) -> str:
        """The address that it listens at."""
        return self._server.url

    async def __aenter__(self) -> Self:
        self._scope.start(self._server.serve(self._respond), "serve")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._scope.close()
        self._server.close()

    def _respond(self, path: str) -> HttpResponse:
        health = health_of(self._application)
        if self._server.is_reachable_from_outside:
            health = without_text(health)
        good = {"/livez": health.is_alive, "/readyz": health.is_ready, "/healthz": health.is_alive}
        if path not in good:
            return plain(HTTPStatus.NOT_FOUND, f"there are {', '.join(good)}\n")
        status = HTTPStatus.OK if good[path] else HTTPStatus.SERVICE_UNAVAILABLE
        body = json.dumps(asdict(health)).encode() + b"\n"
        return HttpResponse(status, "application/json", one_piece(body))
