from __future__ import annotations

import pytest

from millstream.log.directory.segment_checkpoint import (
    LogMark,
    SegmentCheckpoint,
    decode_segments,
    encode_segments,
)
from millstream.log.segments.index_file import IndexMark, SegmentMark
from millstream.model import TopicPartition, Uuid

CHECKPOINT = SegmentCheckpoint(
    {
        TopicPartition("t", 0): LogMark(
            Uuid(b"t" * 16),
            log_start_offset=1,
            recovery_point=18,
            segments=(
                SegmentMark(0, 247, 12, IndexMark(34, 2_864_434_397)),
                SegmentMark(6, 156, 24),
            ),
        ),
        TopicPartition("empty", 3): LogMark(Uuid(b"e" * 16), 0, 0),
    },
    clean_epoch=14,
)
TEXT = (
    b"clean 14\n"
    b"t 0 dHR0dHR0dHR0dHR0dHR0dA 1 18 0:247:12:34:2864434397 6:156:24\n"
    b"empty 3 ZWVlZWVlZWVlZWVlZWVlZQ 0 0 \n"
)


def test_a_segment_checkpoint_is_lines_below_their_checksum():
    version, crc, body = encode_segments(CHECKPOINT).split(b"\n", 2)
    assert (version, body) == (b"0", TEXT)
    assert int(crc) == 809_596_780


def test_what_was_noted_is_read_again():
    assert decode_segments(encode_segments(CHECKPOINT)) == CHECKPOINT
    running = SegmentCheckpoint(CHECKPOINT.logs)
    assert decode_segments(encode_segments(running)) == running


@pytest.mark.parametrize("at", range(0, len(encode_segments(CHECKPOINT)), 7))
def test_a_file_that_was_changed_anywhere_says_nothing(at):
    data = bytearray(encode_segments(CHECKPOINT))
    data[at] ^= 1
    assert decode_segments(bytes(data)) is None
    assert decode_segments(bytes(data[:at])) is None
