"""What a consumer is given is refused at once when the protocol could not carry it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from millstream.clients.consumer.core.arguments import position, search_times, topic_partition
from millstream.clients.core.values import OffsetAndMetadata
from millstream.model import TopicPartition


def test_a_time_to_search_may_be_a_datetime_with_a_zone() -> None:
    partition = TopicPartition("t", 0)
    zoned = datetime(2023, 11, 14, 23, 13, 20, 1, timezone(timedelta(hours=1)))
    assert search_times({partition: zoned}) == {partition: 1_700_000_000_001}
    with pytest.raises(ValueError, match="t-0 needs a zone: datetime"):
        search_times({partition: zoned.replace(tzinfo=None)})


def test_an_offset_beyond_64_bits_is_refused_where_it_is_given() -> None:
    """It used to end the consumer's background task, and with it the consumer."""
    with pytest.raises(ValueError, match="an offset must be at most 9223372036854775807, got 9223"):
        position(2**63)
    assert position(2**63 - 1) == OffsetAndMetadata(2**63 - 1)


def test_a_time_beyond_64_bits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the time to search in .* must be at most"):
        search_times({TopicPartition("t", 0): 2**63})


def test_a_partition_beyond_32_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="a partition's number must be at most 2147483647"):
        topic_partition(("t", 2**31))
