"""The context of one request, which handlers are given beside its body: sender, connection and time."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.quotas.request_time import RequestTime
from millstream.coordinator.result import NO_TOKEN, Caller
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.api import VERSIONS, ApiKey, Message
from millstream.protocol.generated.headers import RequestHeader
from millstream.runtime import Instant
from millstream.security.principal import KafkaPrincipal


@dataclass(slots=True)
class RequestContext:
    """The context of a request, passed to `handle` beside its body.

    Mutable only for fast construction: no code changes it.
    """

    header: RequestHeader
    connection: ClientConnection
    now: Instant
    """Both clocks when the request had been decoded."""
    is_long: bool = False
    """It has thousands of elements, which belong together: what is done with all of them at once is done in a
    thread."""
    cut_from: Message | None = None
    """The whole request, of which this is a part (`long_requests`)."""
    decided: dict[tuple[int, int, str], bool] | None = None
    """What its parts have asked the authorizer already, by operation, type and name of the
    resource; None where it is not cut."""
    time: RequestTime | None = None
    """What measures it; None where there are no quotas."""

    @property
    def version(self) -> int:
        return self.header.request_api_version

    @property
    def client_id(self) -> str:
        """The client id; empty when the client sent none."""
        return self.header.client_id or ""

    @property
    def principal(self) -> KafkaPrincipal:
        return self.connection.principal

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name

    @property
    def connection_id(self) -> int:
        return self.connection.connection_id

    def asking(self, key: ApiKey) -> RequestContext:
        """Returns the context of a request of another API that is made for this client, in its newest version."""
        header = RequestHeader(
            request_api_key=key,
            request_api_version=VERSIONS[key].highest,
            correlation_id=self.header.correlation_id,
            client_id=self.header.client_id,
        )
        return RequestContext(header, self.connection, self.now)

    @property
    def caller(self) -> Caller:
        """The caller, as the shard of a coordinator records it."""
        return Caller(
            NO_TOKEN,
            self.version,
            self.client_id,
            f"/{self.client_host}",
            self.is_long,
            principal=self.principal,
        )
