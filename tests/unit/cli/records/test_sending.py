"""What a verb says of the records that it has sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from millstream.cli.progress import PaceLine
from millstream.cli.records.lines import Line
from millstream.cli.records.sending import LinePlace, RecordSender, told_on_the_way
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


def test_where_the_input_is_is_told_once_a_second() -> None:
    """A look at the clock comes with each thousandth record only."""
    times = iter([400, 1_000, 1_500, 2_100, 2_200])
    told: list[str] = []
    places = [(LinePlace("f", number), Line(None, b"v")) for number in range(1, 5_001)]
    lines = told_on_the_way(iter(places), PaceLine(told.append, lambda: next(times), 0, 0))
    assert list(lines) == places
    assert told == [
        "line 2000 of f, 2,000 records, 2,000/s ...\x1b[K\r",
        "line 4000 of f, 4,000 records, 1,905/s ...\x1b[K\r",
    ]


def test_an_input_that_was_not_read_to_its_end_is_told_with_its_last_place() -> None:
    producer = Acknowledging()
    sender = RecordSender(cast("Producer", producer), "t", None)
    assert sender.summary(is_interrupted=True) == "0 records written to t"

    def lines() -> object:
        yield LinePlace("f", 1), Line(b"k", b"v")
        raise Interrupted

    with pytest.raises(Interrupted):
        sender.write(lines())  # type: ignore[arg-type]  # lines of any kind
    producer.unanswered.pop()(None, None)
    assert sender.summary() == "1 record written to t"
    assert sender.summary(is_interrupted=True) == (
        "1 record written to t; line 1 of f was the last one sent"
    )
