"""The moments of an exactly-once sink at which somebody may be killed, in Spark's workers and, where it begins and ends transactions, in the driver."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from millstream.clients import Producer
from tests.support.kills.orders import Orders


class SinkMoment(StrEnum):
    """The step of a sink that has just been done."""

    FENCED = "fenced in sink"
    BEGUN = "begun in sink"
    SENT = "sent in sink"
    """Records are written in an open transaction."""
    MARKED = "marked in sink"
    """The mark of the micro-batch is part of the transaction."""
    COMMITTED = "committed in sink"
    """The transaction is committed; Spark does not know it yet."""
    WRITTEN = "written by all"
    """All tasks have written, and Spark has not noted the micro-batch. Only the function of `foreachBatch` comes to it."""


_CALLS = {
    "init_transactions": SinkMoment.FENCED,
    "begin_transaction": SinkMoment.BEGUN,
    "flush": SinkMoment.SENT,
    "send_offsets_to_transaction": SinkMoment.MARKED,
    "commit_transaction": SinkMoment.COMMITTED,
}


def observe_sinks() -> None:
    """Has orders carried out in this process and in those that are forked from it."""
    orders = Orders.from_environment()
    for name, moment in _CALLS.items():
        setattr(Producer, name, _observed(getattr(Producer, name), orders, moment))


def _observed(call: Callable[..., Any], orders: Orders, moment: SinkMoment) -> Callable[..., Any]:
    async def observed(*given: Any, **named: Any) -> None:
        await call(*given, **named)
        orders.observe(moment)

    return observed
