"""Tells the operator of failures that are not the client's fault, and of bounds that are reached, each of them once,
however often clients meet it.

Owns what was told. Whoever does something for several partitions in one request passes what one of them raised, so that
it is the error of that partition and of no other: a KafkaError is what it is, anything else is a fault of ours and
becomes UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

import logging
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, final

from millstream.errors import (
    CorruptMessage,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownServerError,
)
from millstream.log.log_health import LogGone
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_AGAIN_MS: Final = 600_000
"""A failure that goes on is told again after ten minutes: whoever reads the newest lines only must find it."""
_REMEMBERED_MAX: Final = 1_000
"""Different failures; of more than that the oldest is forgotten, and told again."""


class PartitionOffline(KafkaStorageError):
    """The log of a partition could not be opened. Whoever tried has told why."""


_OF_THE_DISK: Final = (KafkaStorageError, CorruptMessage)


@dataclass(slots=True)
class _Told:
    at_ms: int
    repeated: int = 0


@final
class FailureLog:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: OrderedDict[tuple[str, ...], _Told] = OrderedDict()

    def of(self, what: str, error: Exception) -> KafkaError:
        """Returns the error that a client is told when `error` came of what was done for
        `what`, a partition or a request.

        An error of the disk is logged as its sentence, an unexpected one with its trace. A replica that was taken away
        while a request was under way is no failure: the client asks the leader next, as it is told by Kafka.
        """
        if isinstance(error, OSError):
            error = KafkaStorageError(f"cannot read or write its files: {error}")
        if isinstance(error, LogGone):
            return NotLeaderOrFollower(error.detail)
        if isinstance(error, _OF_THE_DISK) and not isinstance(error, PartitionOffline):
            repeated = self._is_due((what, type(error).__name__, str(error)))
            if repeated is not None:
                _LOGGER.error("%s: %s%s", what, error.detail or error, _times(repeated))
            return error
        if isinstance(error, KafkaError):
            self.log_bound(what, error)
            return error
        repeated = self._is_due((what, type(error).__name__, _place(error)))
        if repeated is not None:
            _LOGGER.error("%s failed unexpectedly%s", what, _times(repeated), exc_info=error)
        return UnknownServerError()

    def log_bound(self, what: str, error: KafkaError) -> None:
        """Tells of a client that was refused since there is no room, once for each bound: the sentence says what to
        change, and most answers have no place for it.
        """
        if error.bound:
            repeated = self._is_due(("bound", error.bound))
            if repeated is not None:
                _LOGGER.warning("%s: refused, %s%s", what, error, _times(repeated))

    def _is_due(self, key: tuple[str, ...]) -> int | None:
        """Returns how often it was passed over since it was told last; None when it is to be passed over now."""
        now_ms = self._clock.now().monotonic_ms
        told = self._told.get(key)
        if told is not None and now_ms - told.at_ms < _AGAIN_MS:
            told.repeated += 1
            return None
        self._told[key] = _Told(now_ms)
        self._told.move_to_end(key)
        if len(self._told) > _REMEMBERED_MAX:
            self._told.popitem(last=False)
        return 0 if told is None else told.repeated


def _times(repeated: int) -> str:
    return f" ({repeated} times since it was told)" if repeated else ""


def _place(error: Exception) -> str:
    """Where it was raised: file and line."""
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{frames[0].filename}:{frames[0].lineno}" if frames else ""
