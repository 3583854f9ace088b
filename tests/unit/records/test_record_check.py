"""The check of records, by both of its twins: what is lawful passes, every lie is found."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from millstream.errors import InvalidRecord
from millstream.records.batch import read_header
from millstream.records.builder import build_batch
from millstream.records.record import Record
from tests.oracle.broker.broken_batches import NOW_MS, record_lies

LAWFUL = {
    "whole",
    "attributes 1",
    "attributes -1",
    "timestamp delta -1",
    "timestamp delta 5",
    "timestamp before 1970",
    "timestamp delta 2^62",
    "timestamp beyond 64 bits",
    "timestamp delta -2^63",
    "null key",
    "null value",
    "empty key and value",
    "header",
    "header of null",
    "header key empty",
    "header key not UTF-8",
    "two null keys",
}
"""Of records; times and keys are for the topic to judge."""


@pytest.fixture(params=["record_check", "record_check_compiled"])
def leaf(request: pytest.FixtureRequest) -> ModuleType:
    try:
        return importlib.import_module(f"millstream.records.{request.param}")
    except ModuleNotFoundError:
        pytest.skip(
            "the compiled leaves were not built: no C compiler or no Cython at install time"
        )


def check_of(leaf: ModuleType, section: bytes, count: int, base: int = NOW_MS, **rules: object):
    told = {"earliest": 0, "latest": 2**62, "checks_times": False, "needs_keys": False, **rules}
    return leaf.RecordCheck(memoryview(section), count, base, **told)


def three_records(*keys: bytes | None, at_ms: int = 1_000) -> tuple[bytes, int]:
    batch = build_batch(
        Record(timestamp=at_ms + i, key=key, value=b"v", headers=[("h", None)])
        for i, key in enumerate(keys)
    )
    return bytes(batch[61:]), read_header(batch).base_timestamp


@pytest.mark.parametrize("unlocked", [False, True])
@pytest.mark.parametrize(
    ("name", "header", "section"), list(record_lies()), ids=lambda v: str(v)[:40]
)
def test_every_lie_is_found_and_nothing_else(leaf, name, header, section, unlocked):
    check = check_of(leaf, section, header.record_count)
    if name in LAWFUL:
        assert check.walk(unlocked=unlocked) == leaf.DONE
        assert check.index() == header.record_count - 1
    else:
        with pytest.raises(InvalidRecord):
            check.walk(unlocked=unlocked)


def test_the_largest_timestamp_is_that_of_the_records(leaf):
    section, base = three_records(b"a", b"b", b"c")
    check = check_of(leaf, section, 3, base)
    assert (check.walk(), check.max_timestamp()) == (leaf.DONE, 1_002)


def test_a_walk_stops_behind_each_record_at_fault(leaf):
    section, base = three_records(None, b"b", None)
    check = check_of(leaf, section, 3, base, needs_keys=True)
    assert (check.walk(), check.index()) == (leaf.NO_KEY, 0)
    assert (check.walk(), check.index()) == (leaf.NO_KEY, 2)
    assert check.walk() == leaf.DONE


def test_times_outside_their_bounds_are_told_with_the_time(leaf):
    section, base = three_records(b"a", b"b", b"c")
    check = check_of(leaf, section, 3, base, checks_times=True, earliest=1_001, latest=1_001)
    assert (check.walk(), check.index(), check.timestamp()) == (leaf.BAD_TIMESTAMP, 0, 1_000)
    assert (check.walk(), check.index(), check.timestamp()) == (leaf.BAD_TIMESTAMP, 2, 1_002)
    assert check.walk() == leaf.DONE


def test_no_timestamp_is_within_all_bounds(leaf):
    section, _ = three_records(b"a", at_ms=-1)
    check = check_of(leaf, section, 1, -1, checks_times=True, earliest=1_001, latest=1_001)
    assert (check.walk(), check.max_timestamp()) == (leaf.DONE, -1)


def test_a_time_beyond_64_bits_is_outside_of_all_bounds(leaf):
    section, _ = three_records(b"a", b"b")
    check = check_of(leaf, section, 2, 2**63 - 1, checks_times=True, latest=2**63 - 1)
    assert (check.walk(), check.index(), check.timestamp()) == (leaf.BAD_TIMESTAMP, 1, None)


def test_the_first_record_from_an_offset_and_a_time_on_is_found(leaf):
    section, _ = three_records(b"a", b"b", b"c")
    assert leaf.first_from(section, 3, 0, 0) == (0, 0)
    assert leaf.first_from(section, 3, 0, 2) == (2, 2)
    assert leaf.first_from(section, 3, 1, -(2**63)) == (1, 1)
    assert leaf.first_from(section, 3, 0, 3) is None
    assert leaf.first_from(section, 3, 3, 0) is None
    assert leaf.first_from(b"", 0, 0, 0) is None


def test_a_search_in_broken_records_says_so(leaf):
    section, _ = three_records(b"a", b"b")
    with pytest.raises(InvalidRecord, match="does not fit"):
        leaf.first_from(section[:-1], 2, 1, 0)
