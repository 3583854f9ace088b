"""What handlers are called with in tests: services, of which a test gives those it is about, and a real context.

A service that was not given is a stand-in that fails with a clear sentence as soon as a handler touches it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.long_work import LongWork
from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.access import OPEN
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.handler_services import ControllerServices, HandlerServices
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.durability import Durability
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.generated.headers import RequestHeader
from millstream.quota.rate import QuotaWindows
from millstream.raft.voter_set import KRAFT_VERSION_DYNAMIC
from millstream.runtime import Instant
from millstream.security.principal import ANONYMOUS, KafkaPrincipal

_EARLY: Final = Instant(0, 0)

KindT = TypeVar("KindT", HandlerServices, ControllerServices, NodeView)


@dataclass
class GivenMetadata:
    """`Metadata` whose image a test sets."""

    image: MetadataImage


@dataclass
class GivenQuorum:
    """`ControllerClient` of which nothing is asked but how the metadata quorum is."""

    leader_id: int
    leader_epoch: int = 0
    high_watermark: int = 0
    kraft_version: int = KRAFT_VERSION_DYNAMIC

    def leads(self) -> bool:
        return True

    def is_elsewhere(self) -> bool:
        return False

    def quorum(self) -> QuorumDescription:
        return QuorumDescription(
            BrokerId(self.leader_id),
            LeaderEpoch(self.leader_epoch),
            Offset(self.high_watermark),
            Offset(self.high_watermark),
            voters=(),
            kraft_version=self.kraft_version,
        )


class _StillClock:
    def now(self) -> Instant:
        return _EARLY

    def wall_ms(self) -> int:
        return _EARLY.wall_ms


class NotGiven:
    """Stands where a test gave nothing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # Any: never returns
        raise AssertionError(
            f"`{self._name}.{attribute}` was used, and the test gave no `{self._name}`"
        )


def no_quotas() -> NodeQuotas:
    """Quotas of a cluster in which none are set."""
    return NodeQuotas(QuotaWindows(), QuotaWindows(), _StillClock())


def handler_services(**given: Any) -> HandlerServices:  # Any: as much of each service as is used
    failures = FailureLog(_StillClock())
    return _with_stand_ins(
        HandlerServices,
        {"access": OPEN, "failures": failures, "quotas": no_quotas()} | _with_turns(given),
    )


def controller_services(**given: Any) -> ControllerServices:  # Any: see above
    failures = FailureLog(_StillClock())
    return _with_stand_ins(
        ControllerServices,
        {"access": OPEN, "failures": failures, "quotas": no_quotas()} | _with_turns(given),
    )


def node_view(**given: Any) -> NodeView:  # Any: as much of each part as is read
    return _with_stand_ins(NodeView, _with_turns(given))


def _with_turns(given: dict[str, Any]) -> dict[str, Any]:  # Any: see above
    """Everybody may take turns."""
    return {"long_work": LongWork(lambda: 0.0)} | given


def _stand_in(name: str) -> Any:  # Any: fails when it is touched
    """Compiled modules take an object of a compiled class, so its stand-in is one over things that were not given."""
    match name:
        case "durability":
            return Durability(
                _not_given("log_flusher"), _stand_in("purgatory"), _not_given("flush_on_ack")
            )
        case "purgatory":
            return Purgatory(_not_given("clock"))
        case "fetch_sessions":
            return FetchSessions(_not_given("random"), _stand_in("purgatory"), 0)
        case _:
            return NotGiven(name)


def _not_given(name: str) -> Any:  # Any: fails when it is touched
    return NotGiven(name)


def _with_stand_ins(
    kind: type[KindT],
    given: dict[str, Any],  # Any: see above
) -> KindT:
    names = [field.name for field in fields(kind)]
    return kind(**{name: _stand_in(name) for name in names} | given)


def request_context(
    version: int,
    *,
    client_id: str = "client",
    connection_id: int = 1,
    principal: KafkaPrincipal = ANONYMOUS,
    now: Instant = _EARLY,
) -> RequestContext:
    """Of a client of this machine: on the listener PLAINTEXT, unless it has logged in."""
    header = RequestHeader(request_api_version=version, client_id=client_id)
    protocol = (
        SecurityProtocol.PLAINTEXT if principal == ANONYMOUS else SecurityProtocol.SASL_PLAINTEXT
    )
    connection = ClientConnection(
        connection_id, "127.0.0.1", 4711, protocol.name, principal, protocol
    )
    return RequestContext(header, connection, now)
