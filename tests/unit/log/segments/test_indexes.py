from __future__ import annotations

import pytest

from millstream.log.segments.index_file import CorruptIndex
from millstream.log.segments.offset_index import OffsetIndex
from millstream.log.segments.time_index import NO_ENTRY, TimeIndex

PATH = "/i"


def offset_index(world, data: bytes | None = None) -> OffsetIndex:
    if data is not None:
        world.disk.open(PATH).append([data])
    return OffsetIndex(world.disk, PATH, 1_000)


def time_index(world, data: bytes | None = None) -> TimeIndex:
    if data is not None:
        world.disk.open(PATH).append([data])
    return TimeIndex(world.disk, PATH, 1_000)


def test_an_offset_lookup_gives_the_last_entry_at_or_below(world):
    index = offset_index(world)
    index.append(18, 4229)
    index.append(36, 10028)
    assert index.lookup(17) == (0, 0)
    assert index.lookup(18) == (18, 4229)
    assert index.lookup(35) == (18, 4229)
    assert index.lookup(1000) == (36, 10028)
    assert index.lookup_position(10027) == (18, 4229)


def test_the_offset_index_is_kafkas_bytes(world):
    index = offset_index(world)
    index.append(0x12, 0x1085)
    index.append(0x24, 0x272C)
    index.write().close()
    assert world.disk.read(PATH).hex() == "0000001200001085000000240000272c"
    assert offset_index(world).entries() == [(0x12, 0x1085), (0x24, 0x272C)]


def test_the_space_kafka_preallocates_is_not_entries(world):
    index = offset_index(world, bytes.fromhex("0000001200001000") + bytes(800))
    assert index.entries() == [(0x12, 0x1000)]
    index.append(0x13, 0x2000)
    index.write().close()
    assert world.disk.read(PATH).hex() == "00000012000010000000001300002000"


@pytest.mark.parametrize("data", [b"1234567", bytes.fromhex("00000002000000010000000100000002")])
def test_an_offset_index_that_contradicts_itself_is_refused(world, data):
    with pytest.raises(CorruptIndex):
        offset_index(world, data).entries()


def test_truncation_drops_entries_from_an_offset_on_also_in_the_file(world):
    index = offset_index(world)
    for relative_offset in (10, 20, 30):
        index.append(relative_offset, relative_offset * 10)
    index.write().close()
    index.truncate(20)
    index.append(25, 220)
    index.write().close()
    assert offset_index(world).entries() == [(10, 100), (25, 220)]


def test_a_time_lookup_gives_the_last_entry_at_or_below(world):
    index = time_index(world)
    index.append_if_later(100, 5)
    index.append_if_later(200, 9)
    assert index.lookup(99) == NO_ENTRY
    assert index.lookup(199) == (100, 5)
    assert index.lookup(200) == (200, 9)


def test_the_time_index_takes_only_later_timestamps(world):
    index = time_index(world)
    index.append_if_later(100, 5)
    index.append_if_later(100, 6)
    index.append_if_later(99, 7)
    assert index.entries() == [(100, 5)]


def test_the_time_index_is_kafkas_bytes(world):
    index = time_index(world)
    index.append_if_later(1_700_000_000_000, 18)
    index.write().close()
    assert world.disk.read(PATH).hex() == "0000018bcfe5680000000012"
    assert time_index(world).entries() == [(1_700_000_000_000, 18)]


def test_a_time_index_that_contradicts_itself_is_refused(world):
    with pytest.raises(CorruptIndex):
        time_index(
            world, bytes.fromhex("000000000000000200000001000000000000000100000002")
        ).entries()


def test_one_slot_of_the_time_index_is_kept_for_the_roll(world):
    index = TimeIndex(world.disk, PATH, 36)
    index.append_if_later(1, 1)
    assert not index.is_full
    index.append_if_later(2, 2)
    assert index.is_full


def test_index_rule_of_kafka_entries_name_the_first_batch_after_more_than_the_interval(world):
    """An entry is written before a batch once more than index.interval.bytes were appended since the last one."""
    log = world.open()
    sizes = []
    for number in range(12):
        batch = world.batch(b"x" * 1_000, timestamp=1_000 + number)
        sizes.append(len(batch))
        log.append_as_leader(batch, 0, world.now)
    assert sizes[0] == 1_071
    assert log.segments[0].offset_index.entries() == [(4, 4 * 1_071), (8, 8 * 1_071)]
    assert log.segments[0].time_index.entries() == [(1_004, 4), (1_008, 8)]
    log.close(world.now)
    assert world.content("00000000000000000000.timeindex")[-12:].hex() == "00000000000003f30000000b"
