"""What a client is given is refused at once when the protocol could not carry it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from millstream.clients.config import (
    ClientConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from millstream.clients.config.settings import parse_settings
from millstream.clients.core.arguments import (
    position,
    positions,
    record_count,
    search_times,
    sendable,
    timeout,
    topic_names,
    topic_partition,
    topic_partitions,
)
from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import ConfigError
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


@pytest.mark.parametrize(
    ("check", "value", "sentence"),
    [
        (timeout, "x", "timeout_ms must be a number of milliseconds, got 'x'"),
        (timeout, None, "timeout_ms must be a number of milliseconds, got None"),
        (timeout, True, "timeout_ms must be a number of milliseconds, got True"),
        (record_count, "x", "max_records must be a number, got 'x'"),
        (topic_names, 5, "topics takes several, in a list, got 5"),
        (topic_partitions, 5, "partitions takes several, in a list, got 5"),
        (positions, "x", "offsets takes a mapping by partition, got 'x'"),
        (positions, [("t", 0)], "offsets takes a mapping by partition, got"),
        (search_times, [("t", 0)], "times takes a mapping by partition, got"),
        (search_times, {("t", 0): "x"}, "is in milliseconds or a datetime, got 'x'"),
    ],
)
def test_a_value_of_another_kind_is_told_what_to_be(
    check: Callable[[object], object], value: object, sentence: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(sentence)):
        check(value)


def test_a_part_of_a_millisecond_does_no_harm() -> None:
    assert timeout(1.5) == 1.5


HALF_A_PAIR = "a\ud800"
"""A surrogate without its other half, which UTF-8 has no bytes for."""
UNSENDABLE = (HALF_A_PAIR, "x" * 32_768)


@pytest.mark.parametrize("text", UNSENDABLE)
def test_a_text_that_no_request_can_carry_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a topic's name cannot be sent: "):
        topic_names([text])
    with pytest.raises(ValueError, match="a topic's name cannot be sent: "):
        topic_partition((text, 0))
    with pytest.raises(ValueError, match="the metadata of an offset cannot be sent: "):
        position(OffsetAndMetadata(1, text))
    assert sendable("a pattern", "x" * 32_767) == "x" * 32_767


@pytest.mark.parametrize("text", UNSENDABLE)
@pytest.mark.parametrize(
    ("config", "key"),
    [
        (ConsumerConfig, "group_id"),
        (ConsumerConfig, "client_id"),
        (ConsumerConfig, "client_rack"),
        (ConsumerConfig, "group_instance_id"),
        (ShareConsumerConfig, "client_rack"),
        (ProducerConfig, "transactional_id"),
        (ProducerConfig, "sasl_plain_password"),
    ],
)
def test_so_is_one_of_a_setting(config: type[ClientConfig], key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} cannot be sent: ") as refused:
        parse_settings(config, {key: text})
    assert text not in str(refused.value), "it may be a secret"


@pytest.mark.parametrize("given", [None, 5, b"note"])
def test_the_metadata_of_an_offset_is_text(given: object) -> None:
    with pytest.raises(TypeError, match="the metadata of an offset must be a string, got "):
        position(OffsetAndMetadata(1, given))  # type: ignore[arg-type] - what is tested


@pytest.mark.parametrize("epoch", [None, "5", True, -2, 2**31])
def test_a_leader_epoch_is_a_number_of_32_bits(epoch: object) -> None:
    with pytest.raises(ValueError, match="a leader epoch must be between -1 and 2147483647, got "):
        position(OffsetAndMetadata(1, "", epoch))  # type: ignore[arg-type] - what is tested
    assert position(OffsetAndMetadata(1, "", 2**31 - 1)).leader_epoch == 2**31 - 1
