"""The declaration of an API in its handler module: key, versions served, the permissions that clients need, which of
its lists may be long, and how a request that failed as a whole is answered.

ApiVersions, dispatch and the compatibility page read it. An API whose response has an error at its top needs nothing
for the last; the others say the error in every item that they were asked for: their handler module has a function
`failed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from millstream.errors import InvalidProducerEpoch, KafkaError, ProducerFenced, ProtocolError
from millstream.protocol.api import ApiKey, Message, response_class
from millstream.security.acl import Operation, ResourceType

ELEMENTS_PER_PART: Final = 50
"""Of a request that is cut: handled in some milliseconds."""
Element: TypeAlias = (
    Any  # Any: whatever a list of a message holds; paths name fields of any generated class
)
Path = tuple[str, ...]
"""Names of lists, from the outermost in."""


class Permission(NamedTuple):
    """A permission that an API needs: an operation on resources of a type.

    Which resources, and when, depends on the request: the topics and groups that it names, or a part of them.
    """

    operation: Operation
    resource_type: ResourceType
    refuses_request: bool = False
    """Asked before the request is handled: without it all of it fails with CLUSTER_AUTHORIZATION_FAILED."""


def cluster_permission(operation: Operation) -> Permission:
    """Returns the permission without which the whole request is refused, whatever it asks for."""
    return Permission(operation, ResourceType.CLUSTER, refuses_request=True)


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a request that hold its elements, and the lists of the response that answer
    them, in the same order.
    """

    asked: Path
    answered: Path
    per_part: int = ELEMENTS_PER_PART
    """Fewer where an element costs much; more where each part waits for the disk."""
    records: Callable[[Element], int] = lambda _element: 0
    """How many records an element of the outermost list asks the metadata log for, at least. Of a whole request that
    many are too many, as in Kafka, although the parts would do."""


@dataclass(frozen=True, slots=True)
class ApiSpec:
    """One API as this broker serves it. `versions` is a half-open range: `range(1, 12)` is 1-11."""

    key: ApiKey
    versions: range
    permissions: tuple[Permission, ...]
    """As Kafka asks for them, in its order; empty for an API that every client may use."""
    is_forwarded: bool = False
    """A broker passes the request on to the active controller as it came, where that is another
    node, and asks for nothing itself."""
    lists: tuple[Lists, ...] = ()
    """Where a long request is cut into parts: the elements do not depend on each other (`long_requests`)."""
    kept_whole: str = ""
    """Why its lists are handled together, where it has some that are not cut, and do not hold the loop."""
    tells_all: bool = False
    """A short request may have a long answer: all that there is of something."""
    answer_lists: Path = ()
    """Where an answer has its elements, if that is deep inside it or has to be looked up fast."""

    @property
    def lowest(self) -> int:
        return self.versions.start

    @property
    def highest(self) -> int:
        return self.versions.stop - 1


Request = Any  # Any: the generated class of one API key; no type joins a key to its classes
Failed = Callable[[Request, int, KafkaError], Message]
"""From a request, its version and the error."""


class NoAnswer(ProtocolError):
    """Raised when a request failed and its client wants no answer: its connection is closed instead."""


def error_at_the_top(key: ApiKey) -> Failed:
    """Builds the response of API `key` that has nothing but `error_code` and, where there is one, `error_message`."""

    def failed(_request: Message, _version: int, error: KafkaError) -> Message:
        response: Any = response_class(key)()  # Any: every class that comes here has an error_code
        response.error_code = error.code
        if hasattr(response, "error_message"):
            response.error_message = str(error)
        return response  # type: ignore[no-any-return]  # it is an instance of response_class(key)

    return failed


def error_code(error: KafkaError, version: int, knows_fenced_from: int) -> int:
    """Returns the code of `error`: older versions know INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED (KIP-588)."""
    if isinstance(error, ProducerFenced) and version < knows_fenced_from:
        return InvalidProducerEpoch.code
    return error.code
