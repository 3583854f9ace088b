"""What tasks drop is told at WARN, at once and then once a minute, in ten lines a minute at most."""

from __future__ import annotations

import logging

import pytest

from millstream.streams import DroppedRecords, DropReason
from millstream.streams.dropped_log import INTERVAL_MS, LINES_MAX, DroppedLog
from tests.unit.streams.application.manual_clock import MovedClock


class Told:
    """A log at a time that tests set, and the lines that it has written since they were last read."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, logger="millstream.streams.dropped_log")
        self.clock = MovedClock()
        self.log = DroppedLog(self.clock, "thread t:")
        self._caplog = caplog

    def read(self) -> list[tuple[str, str]]:
        lines = [(each.levelname, each.getMessage()) for each in self._caplog.records]
        self._caplog.clear()
        return lines


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    return Told(caplog)


def without_key(
    records: int = 1, *, node: str = "COUNT", partition: int = 0, offset: int = 7
) -> DroppedRecords:
    reason = DropReason.NULL_KEY
    return DroppedRecords(node, "orders", partition, reason, records, records, offset, 3, 9)


def line(task: str, records: str, place: str) -> tuple[str, str]:
    return (
        "WARNING",
        (
            f"thread t: task [{task}] COUNT has left out {records} of topic orders{place}, timestamp 3, stream time 9: it has no key. "
            "Set a key before this node, with select_key() say, or leave such records out yourself, with filter()"
        ),
    )


def test_the_first_is_told_at_once_and_what_follows_within_a_minute_together(told: Told) -> None:
    told.log.take("0_0", [without_key(2)])
    assert told.read() == [line("0_0", "2 records", ". The first: orders-0, offset 7")]
    told.log.take("0_0", [without_key(3, offset=20)])
    told.clock.pass_ms(INTERVAL_MS - 1)
    told.log.take("0_0", [without_key(1, offset=30)])
    assert told.read() == []
    told.clock.pass_ms(1)
    told.log.tell()
    assert told.read() == [line("0_0", "4 records", ". The first: orders-0, offset 20")]
    told.clock.pass_ms(10 * INTERVAL_MS)
    told.log.tell()
    assert told.read() == []


def test_partitions_share_a_line_which_names_the_place_of_the_first(told: Told) -> None:
    told.log.take("0_1", [without_key(partition=1)])
    told.log.take("0_2", [without_key(partition=2, offset=8)])
    told.log.take("0_0", [without_key(partition=0, offset=9)])
    told.read()
    told.clock.pass_ms(INTERVAL_MS)
    told.log.tell()
    assert told.read() == [
        line("0_2", "2 records", " in 2 partitions. The first: orders-2, offset 8")
    ]


def test_no_more_than_ten_lines_come_in_a_minute_and_the_others_in_the_next(told: Told) -> None:
    told.log.take("0_0", [without_key(node=f"N{number}") for number in range(LINES_MAX + 3)])
    assert len(told.read()) == LINES_MAX
    told.log.tell()
    assert told.read() == []
    told.clock.pass_ms(INTERVAL_MS)
    told.log.tell()
    assert [text.split()[4] for _, text in told.read()] == ["N10", "N11", "N12"]


def test_what_is_left_is_told_at_the_end(told: Told) -> None:
    told.log.take("0_0", [without_key()])
    told.log.take("0_0", [without_key(5)])
    told.read()
    told.log.close()
    assert told.read() == [line("0_0", "5 records", ". The first: orders-0, offset 7")]
    told.log.close()
    assert told.read() == []


@pytest.mark.parametrize("reason", [DropReason.NOT_NEWEST, DropReason.STALE_ANSWER])
def test_what_was_asked_for_is_told_at_info(told: Told, reason: DropReason) -> None:
    told.log.take("0_0", [DroppedRecords("JOIN", "orders", 0, reason, 1, 1, 7, 3, 9)])
    ((level, _),) = told.read()
    assert level == "INFO"
