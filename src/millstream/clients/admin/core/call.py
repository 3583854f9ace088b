"""An admin call as a value: items, where each belongs, how to ask for them, how to read the answer. No I/O.

Every API is a `Call` value; `driver.AdminApiDriver` performs it. What is decided here: which items share a request,
which errors are worth another try, and what each item's result is when all is over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from millstream.clients.admin.core.releases import unsupported
from millstream.clients.admin.core.results import Results
from millstream.clients.admin.core.routes import Route
from millstream.errors import (
    EncodeError,
    KafkaError,
    NetworkException,
    RequestTimedOut,
    UnknownServerError,
    UnsupportedVersion,
)
from millstream.net.client.core.api_versions import ApiVersionTable
from millstream.protocol.api import VERSIONS, ApiKey, Message

Key = TypeVar("Key")
Value = TypeVar("Value")
Response = TypeVar("Response", bound=Message)
Place = TypeVar("Place")
LookupResponse = TypeVar("LookupResponse", bound=Message)

ATTEMPTS_IN_DOUBT: Final = 4
ONE_BY_ONE: Final = 2**15
"""As `batched_since`: no version carries several items."""

_LOST: Final = (NetworkException, RequestTimedOut)
"""The errors of a connection after which the broker may have done it or not. All admin requests may be repeated."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[Key]):
    """One request: for which items, in which version, to which broker (None: whichever), and how long it may take."""

    keys: list[Key]
    version: int
    timeout_ms: int
    node_id: int | None


@dataclass(frozen=True, kw_only=True)  # no slots: Call[...](...) fails with them on Python 3.11
class Call(Generic[Key, Value, Response]):
    """`build` and `read` raise KafkaError when all items of the request fail alike."""

    api: ApiKey
    response: type[Response]
    route: Route[Key]
    build: Callable[[Asked[Key]], Message]
    read: Callable[[Response, Asked[Key]], Mapping[Key, Value | KafkaError]]
    batched_since: int = 0
    """Below this version a request carries one item."""
    version_max: int = 2**15
    retries: tuple[type[KafkaError], ...] = ()
    """Errors of items that are worth another try, besides those of the place."""
    final: tuple[type[KafkaError], ...] = ()
    """Errors of the place that are not."""
    doubted: tuple[type[KafkaError], ...] = ()
    """Errors that are worth another try, but are believed after a few: brokers learn of new topics with a delay."""

    def version(self, theirs: ApiVersionTable) -> int:
        """Returns the version to use.

        Raises UnsupportedVersion, naming the release that the broker would have to be of.
        """
        if not theirs.supports(self.api):
            raise unsupported(self.api)
        return theirs.choose(self.api, self.version_max)

    def request(self, asked: Asked[Key]) -> Message:
        """Builds the request in a version. Raises UnsupportedVersion for what the broker's version has no field for."""
        message = self.build(asked)
        if asked.version < min(VERSIONS[self.api].highest, self.version_max):
            try:
                message.encode(bytearray(), asked.version)
            except EncodeError as error:
                raise UnsupportedVersion(
                    f"{self.api.name}: the broker is too old for this call: {error}"
                ) from error
        return message

    def batches(self, keys: Sequence[Key], version: int) -> list[list[Key]]:
        return [list(keys)] if version >= self.batched_since else [[key] for key in keys]

    def is_worth_retrying(self, error: KafkaError, attempts: int) -> bool:
        """Tells whether to try again.

        `attempts` is the number of attempts so far, the one that ended with `error` included.
        """
        if isinstance(error, self.final):
            return False
        if isinstance(error, self.doubted):
            return attempts < ATTEMPTS_IN_DOUBT
        return isinstance(error, (*self.route.retries, *self.retries))


class CallProgress(Generic[Key, Value]):
    """The items of one call: which have their result, and which are to be asked for (again)."""

    def __init__(self, call: Call[Key, Value, Response], keys: Iterable[Key]) -> None:
        self._is_worth_retrying = call.is_worth_retrying
        self._keys = list(dict.fromkeys(keys))
        self._results: dict[Key, Value | KafkaError] = {}
        self._unfinished: dict[Key, KafkaError | None] = dict.fromkeys(self._keys)
        self._attempts = 0

    @property
    def pending(self) -> list[Key]:
        return list(self._unfinished)

    @property
    def attempts(self) -> int:
        return self._attempts

    def start_attempt(self) -> list[Key]:
        self._attempts += 1
        return self.pending

    def take(self, keys: Collection[Key], answers: Mapping[Key, Value | KafkaError]) -> None:
        """Takes in the answer to a request for `keys`."""
        for key in keys:
            answer = answers[key] if key in answers else _left_out(key)
            if isinstance(answer, KafkaError) and self._is_worth_retrying(answer, self._attempts):
                self._unfinished[key] = answer
            else:
                self._finish(key, answer)

    def fail(self, keys: Iterable[Key], error: KafkaError) -> None:
        """These were not asked for, or nothing came back."""
        for key in keys:
            if isinstance(error, _LOST):
                self._unfinished[key] = error
            else:
                self._finish(key, error)

    def take_unlocated(
        self, key: Key, error: KafkaError, lookup: Call[Place, int, LookupResponse]
    ) -> None:
        """Takes in that the broker of an item was not found; `lookup` knows which of its errors may pass."""
        if isinstance(error, _LOST) or lookup.is_worth_retrying(error, self._attempts):
            self._unfinished[key] = error
        else:
            self._finish(key, error)

    def results(self, unreachable: str = "") -> Results[Key, Value]:
        """Returns the results in the order of the items; what has no result yet ends with its last error, or
        with who was `unreachable`.
        """
        late = "the time limit of the call was over before a broker answered"
        if unreachable:
            late = f"{late}; {unreachable}"
        results: Results[Key, Value] = Results()
        for key in self._keys:
            if key in self._results:
                results[key] = self._results[key]
            else:
                results[key] = self._unfinished[key] or RequestTimedOut(_about(key) + late)
        return results

    def _finish(self, key: Key, answer: Value | KafkaError) -> None:
        self._unfinished.pop(key, None)
        self._results[key] = answer


def _left_out(key: object) -> KafkaError:
    return UnknownServerError(_about(key) + "the broker's answer leaves this out")


def _about(key: object) -> str:
    """Calls that have but one item know it by None, and a broker by its id."""
    if key is None:
        return ""
    return f"broker {key}: " if isinstance(key, int) else f"{key}: "
