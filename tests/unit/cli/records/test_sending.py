"""What a verb says of the records that it has sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from millstream.cli.records.lines import Line
from millstream.cli.records.sending import LinePlace, RecordSender
from millstream.clients.blocking import Producer

Delivered = Callable[[object, Exception | None], None]


class Interrupted(BaseException):
    """As a signal raises it."""


class Acknowledging:
    """A producer whose records are acknowledged when it is told so. Its commits are interrupted."""

    def __init__(self) -> None:
        self.unanswered: list[Delivered] = []

    def init_transactions(self) -> None:
        pass

    def begin_transaction(self) -> None:
        pass

    def commit_transaction(self) -> None:
        raise Interrupted

    def send(self, _topic: str, _value: bytes, *, on_delivery: Delivered, **_: object) -> None:
        self.unanswered.append(on_delivery)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_record_of_an_interrupted_transaction_is_not_written_whenever_it_is_acknowledged(
    is_late: bool,
) -> None:
    producer = Acknowledging()
    sender = RecordSender(cast("Producer", producer), "t", None)

    def lines() -> object:
        yield LinePlace("-", 1), Line(b"k", b"v")
        if not is_late:
            producer.unanswered.pop()(None, None)

    with pytest.raises(Interrupted):
        sender.write_in_transactions(lines(), None)  # type: ignore[arg-type]  # lines of any kind
    for delivered in producer.unanswered:
        delivered(None, None)
    assert sender.summary() == "0 records written to t, 1 in a transaction that was not committed"
