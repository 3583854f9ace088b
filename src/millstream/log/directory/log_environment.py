"""The services that every log uses, and the state that checkpoints have saved for it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from millstream.log.producers.producer_state import ProducerCount
from millstream.log.segments.index_file import SegmentMark
from millstream.runtime import FileSystem, Random

_SHORTAGES: Final = {
    errno.ENOSPC,
    errno.EFBIG,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.EBADF,
    errno.EINTR,
}
_OF_ONE_FILE: Final = {
    errno.EACCES,
    errno.EPERM,
    errno.ENOENT,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.ELOOP,
}
"""Somebody took the file, or the right to it, away: what is wrong with one file of a log is wrong with that log."""


def is_broken_disk(error: OSError) -> bool:
    """Whether the disk has failed; not when a resource ran out, or a file was closed while it was read."""
    return error.errno not in _SHORTAGES


def is_beyond_one_log(error: OSError) -> bool:
    """Whether an error with a file of one log means that no log on its disk can be trusted."""
    return is_broken_disk(error) and error.errno not in _OF_ONE_FILE


def _ignore_error(_error: OSError) -> None:
    pass


@dataclass(slots=True)
class LogEnvironment:
    file_system: FileSystem
    random: Random
    producer_id_expiration_ms: int = 86_400_000
    """May be changed while the broker runs."""
    producers: ProducerCount = field(default_factory=ProducerCount)
    on_broken_disk: Callable[[OSError], None] = _ignore_error
    """Told of every error after which the data directory must not be trusted; may be called in any thread."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """The entries for one log in the checkpoints of the data directory. The defaults fit a log without entries."""

    recovery_point: int = 0
    """Everything before it was on the disk when the checkpoint was written."""
    log_start_offset: int = 0
    was_clean: bool = False
    """The broker shut down cleanly: the files are complete as they are."""
    cleaner_checkpoint: int | None = None
    synced_to: int = 0
    """Everything before it was on the disk, whatever the recovery point says: the metadata log has
    none and is recovered whole."""
    marks: tuple[SegmentMark, ...] = ()
    """What its segments held when they were noted, in order; empty where nobody noted it."""
    marks_are_exact: bool = False
    """They were noted by the clean shutdown that was the last thing to happen to the log."""
