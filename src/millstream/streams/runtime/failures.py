"""Tells failures of tasks that the next attempt may not meet again from those that need a person."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from millstream.clients import CommitFailed, TopicDeleted
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionalProducerFailed,
    TransactionFailed,
)
from millstream.errors import (
    IllegalGeneration,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
    RebalanceInProgress,
    RetriableError,
    StaleMemberEpoch,
    TransactionAbortable,
    UnknownMemberId,
    UnknownProducerId,
    UnknownTopicOrPartition,
)
from millstream.streams.runtime.errors import StoreLocked, StoreNotWritten, TaskMigrated

_RETRIABLE: Final = (
    RetriableError,
    StoreLocked,
    StoreNotWritten,
    TaskMigrated,
    ProducerFenced,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    UnknownProducerId,
    TransactionAbortable,
    TransactionAborted,
    TopicDeleted,
    CommitFailed,
    RebalanceInProgress,
    IllegalGeneration,
    StaleMemberEpoch,
    UnknownMemberId,
    ConnectionError,
    TimeoutError,
)
_DISK_ERRNOS: Final = frozenset(
    {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOENT, errno.ENOSPC, errno.ENOTDIR, errno.EPERM, errno.EROFS}
)  # fmt: skip
_ERRNO_OF_BINDING: Final = re.compile(r"\(os error \d+\)$")


def is_retriable(error: BaseException | None) -> bool:
    """Whether the next attempt may succeed: the cluster, another attempt or a lock was in the way."""
    if isinstance(error, TransactionFailed | TransactionalProducerFailed):
        return is_retriable(error.__cause__)
    return isinstance(error, _RETRIABLE)


@contextmanager
def told_by_causes() -> Iterator[None]:
    """Raises what needs a person in a transaction instead of its failure, which says to abort it: a task's is
    not the program's to abort.
    """
    try:
        yield
    except (TransactionFailed, TransactionalProducerFailed) as error:
        cause = error.__cause__
        if cause is None or is_retriable(cause):
            raise
        raise cause from cause.__cause__


def misses_topic(error: BaseException | None) -> bool:
    """Whether a topic of a task was deleted, or is not known yet where it was asked for."""
    if isinstance(error, TransactionFailed | TransactionalProducerFailed):
        return misses_topic(error.__cause__)
    return isinstance(error, TopicDeleted | UnknownTopicOrPartition)


def is_disk_failure(error: BaseException) -> bool:
    """Whether the disk has refused something: it is full, read-only, broken or gone.

    RocksDB and its binding tell in words only.
    """
    if isinstance(error, OSError):
        return error.errno in _DISK_ERRNOS
    text = str(error)
    return text.startswith("IO error: ") or _ERRNO_OF_BINDING.search(text) is not None
