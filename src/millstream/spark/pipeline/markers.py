"""Waits for the markers of transactions that have ended.

Apache Kafka answers a commit as soon as it is decided, and writes the markers afterwards. Until a partition
has its marker, read_committed readers find its end before the transaction: whoever asks how far there is
something to read would take it for all.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection
from typing import Final

from millstream.clients.admin import Admin, OffsetSpec, TransactionState
from millstream.errors import TransactionalIdNotFound
from millstream.model import TopicPartition
from millstream.quoting import some_of

_LOGGER = logging.getLogger(__name__)

LOOK_S: Final = 0.01
"""Markers follow a commit within milliseconds."""
_LOOK_MAX_S: Final = 1.0
"""Markers follow at once; a transaction that somebody left open ends minutes later."""
_DECIDED: Final = {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}


async def await_markers(
    admin: Admin, transactional_ids: Collection[str], stopping: threading.Event
) -> None:
    """Returns when no transaction of these ids is decided that lacks a marker, or when the application stops.

    One that is still open is not waited for: the next run of its task aborts it. Raises what the cluster answers.
    """
    left = list(transactional_ids)
    while left and not stopping.is_set():
        found = await admin.describe_transactions(left)
        errors = found.errors()
        for error in errors.values():
            if not isinstance(error, TransactionalIdNotFound):  # its task has not run yet
                raise error
        left = [
            each for each in left if each not in errors and found.result(each).state in _DECIDED
        ]
        if left:
            await asyncio.sleep(LOOK_S)


async def await_ends(
    admin: Admin,
    partitions: Collection[TopicPartition],
    stopping: threading.Event,
    timeout_ms: int,
) -> list[TopicPartition]:
    """Waits until no transaction lies behind the last stable offset of any partition, or until the application stops.

    Returns the partitions where one still does at the time limit; none otherwise. Fit for topics that only the
    application writes. Raises what the cluster answers.
    """
    now_s = asyncio.get_running_loop().time
    deadline_s = now_s() + timeout_ms / 1000
    wanted = dict.fromkeys(partitions, OffsetSpec.LATEST)
    pause_s = LOOK_S
    while not stopping.is_set():
        stable = (await admin.list_offsets(wanted, read_committed=True)).raise_errors()
        ends = (await admin.list_offsets(wanted)).raise_errors()
        is_open = [tp for tp in wanted if stable.result(tp).offset != ends.result(tp).offset]
        if not is_open or now_s() >= deadline_s:
            return is_open
        await asyncio.sleep(pause_s)
        if pause_s < _LOOK_MAX_S and 2 * pause_s >= _LOOK_MAX_S:
            _LOGGER.info(
                "waiting up to %d ms for open transactions in %s",
                timeout_ms, some_of([str(tp) for tp in is_open]),
            )  # fmt: skip
        pause_s = min(2 * pause_s, _LOOK_MAX_S)
    return []
