"""The moments of a query with an exactly-once sink at which somebody may be killed.

`pyspark_watched` comes to those of a whole micro-batch, in processes that Spark starts for them. Those of a transaction come in Spark's
workers; the driver begins and ends the transactions of an atomic write, and runs the function of `foreachBatch`.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from millstream.clients import Producer
from millstream.net.client.connection import Connection
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.spark.sink.rows import RowSender
from tests.support.kills.orders import Orders


class SinkMoment(StrEnum):
    """The step that has just been done."""

    PLANNED = "planned by source"
    """The micro-batch is in the log of offsets, and none of its tasks runs."""
    FENCED = "fenced in sink"
    BEGUN = "begun in sink"
    WRITING = "partly sent in sink"
    """Some of the rows are under way in an open transaction: a task sends them in several Arrow batches."""
    SENT = "sent in sink"
    """Records are written in an open transaction."""
    MARKED = "marked in sink"
    """The mark of the micro-batch is part of the transaction."""
    COMMITTING = "commit is sent by sink"
    """The coordinator is asked to commit and has not answered."""
    COMMITTED = "committed in sink"
    """The transaction is committed; Spark does not know it yet."""
    WRITTEN = "written by all"
    """All tasks have written, and Spark has not noted the micro-batch in its log of commits."""


_CALLS = {
    (Producer, "init_transactions"): SinkMoment.FENCED,
    (Producer, "begin_transaction"): SinkMoment.BEGUN,
    (RowSender, "send"): SinkMoment.WRITING,
    (Producer, "flush"): SinkMoment.SENT,
    (Producer, "send_offsets_to_transaction"): SinkMoment.MARKED,
    (Producer, "commit_transaction"): SinkMoment.COMMITTED,
}


def observe_sinks() -> None:
    """Has orders carried out in this process and in those that are forked from it."""
    orders = Orders.from_environment()
    for (owner, name), moment in _CALLS.items():
        setattr(owner, name, _observed(getattr(owner, name), orders, moment))
    _observe_requests(orders)


def _observed(call: Callable[..., Any], orders: Orders, moment: SinkMoment) -> Callable[..., Any]:
    async def observed(*given: Any, **named: Any) -> Any:  # Any: whatever it takes and returns
        result = await call(*given, **named)
        orders.observe(moment)
        return result

    return observed


def _observe_requests(orders: Orders) -> None:
    """A commit is sent when its request is written; the answer comes to the loop later."""
    send = Connection._send

    def observed(
        self: Connection, key: ApiKey, request: Message, version: int, timeout_ms: int | None = None
    ) -> Future[Message]:
        answer = send(self, key, request, version, timeout_ms)
        if isinstance(request, EndTxnRequest) and request.committed:
            orders.observe(SinkMoment.COMMITTING)
        return answer

    Connection._send = observed  # type: ignore[method-assign]  # the moment is in the middle of a request
