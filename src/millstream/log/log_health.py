"""Remembers why a log refuses everything, once it does, and says what an error of its disk means."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import TypeVar, final

from millstream.errors import KafkaError, KafkaStorageError
from millstream.log.directory.log_environment import LogEnvironment, is_beyond_one_log
from millstream.log.segments.index_file import CorruptIndex
from millstream.model import TopicPartition

_T = TypeVar("_T")


class LogGone(KafkaStorageError):
    """The replica is no more of this broker, and nothing is wrong with the disk: its topic was
    deleted, or it moved elsewhere.
    """


class LogBeingCut(KafkaStorageError):
    """Nothing is wrong with the log: it can be appended to as soon as a cut of it is on the disk."""


@final
class LogHealth:
    def __init__(
        self, partition: TopicPartition, directory: str, environment: LogEnvironment
    ) -> None:
        self.directory = directory
        self.failure: str | None = None
        """The reason why the log refuses everything; None while it is usable."""
        self.is_being_cut = False
        """Whether a cut was made that is not on the disk yet, before which nothing is appended."""
        self._is_gone = False
        self._partition = partition
        self._environment = environment

    def check(self) -> None:
        """Raises KafkaStorageError once the log has failed, LogGone if its replica was taken away."""
        if self.failure is not None:
            raise LogGone(self.failure) if self._is_gone else KafkaStorageError(self.failure)

    def check_appendable(self) -> None:
        """Raises KafkaStorageError; LogBeingCut for the moment that a cut takes to reach the disk."""
        self.check()
        if self.is_being_cut:
            raise LogBeingCut(f"a cut of {self.directory} is not on the disk yet")

    def fail(self, reason: str, *, is_gone: bool = False) -> None:
        self._is_gone = is_gone
        self.failure = f"the log of {self._partition} in {self.directory} is offline: {reason}"

    def guard(self, action: str, work: Callable[[], _T]) -> _T:
        """Does `work`, unless the log has failed.

        Raises KafkaStorageError for what the disk refuses or holds that is damaged.
        """
        self.check()
        try:
            return work()
        except (OSError, CorruptIndex) as error:
            raise self.error(action, error) from error

    def guarded(self, action: str, items: Iterator[_T]) -> Iterator[_T]:
        """The same for work that goes on while it is iterated."""
        self.check()
        try:
            yield from items
        except OSError as error:
            raise self.error(action, error) from error

    def error(self, action: str, error: OSError | CorruptIndex | KafkaError) -> KafkaStorageError:
        """Returns what to raise when `action` has failed. A broken disk takes its directory offline."""
        if not isinstance(error, OSError):
            return KafkaStorageError(str(error))
        hint = "free some space" if error.errno == errno.ENOSPC else "check the disk"
        if is_beyond_one_log(error):
            self._environment.on_broken_disk(error)
        return KafkaStorageError(
            f"cannot {action} the log of {self._partition} in {self.directory}: {error.strerror or error}; {hint}"
        )
