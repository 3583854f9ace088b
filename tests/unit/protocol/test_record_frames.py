"""Messages inside records: what stands before them."""

from __future__ import annotations

import pytest

from millstream.errors import MalformedMessage, UnsupportedVersion
from millstream.model import Uuid
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from millstream.protocol.generated.group_records import OffsetCommitKey, OffsetCommitValue
from millstream.protocol.generated.metadata_records import FeatureLevelRecord, TopicRecord
from millstream.protocol.generated.share_records import ShareSnapshotKey
from millstream.protocol.generated.transaction_records import TransactionLogKey, TransactionLogValue
from millstream.protocol.record_frames import (
    UnknownRecordType,
    decode_group_record,
    decode_metadata_record,
    decode_share_record,
    decode_transaction_record,
    decode_versioned,
    encode_metadata_record,
    encode_record_key,
    encode_record_value,
    encode_versioned,
)

TOPIC = TopicRecord("orders", Uuid(bytes(range(16))))
TOPIC_BYTES = bytes.fromhex("01 02 00 07 6f7264657273 000102030405060708090a0b0c0d0e0f 00")


def test_a_metadata_record_opens_with_frame_version_type_and_version() -> None:
    assert encode_metadata_record(TOPIC, 0) == TOPIC_BYTES
    assert decode_metadata_record(TOPIC_BYTES) == TOPIC
    feature = FeatureLevelRecord("metadata.version", 30)
    assert encode_metadata_record(feature, 0)[:3] == bytes([1, 12, 0])


def test_bytes_left_over_in_a_metadata_record_are_malformed() -> None:
    with pytest.raises(MalformedMessage, match="1 bytes are left over"):
        decode_metadata_record(TOPIC_BYTES + b"\0")


@pytest.mark.parametrize("length", range(len(TOPIC_BYTES)))
def test_a_metadata_record_that_ends_too_early_is_malformed(length: int) -> None:
    with pytest.raises(MalformedMessage):
        decode_metadata_record(TOPIC_BYTES[:length])


def test_another_frame_version_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="frame version 2 is not 1"):
        decode_metadata_record(b"\x02" + TOPIC_BYTES[1:])


def test_a_metadata_record_of_an_unknown_type_says_which() -> None:
    with pytest.raises(UnknownRecordType, match="no metadata record has type 99") as raised:
        decode_metadata_record(b"\x01\x63\x00")
    assert raised.value.record_type == 99


def test_a_metadata_record_of_an_unknown_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion, match="TopicRecord has versions 0 to 0, not 1"):
        decode_metadata_record(b"\x01\x02\x01" + TOPIC_BYTES[3:])


def test_a_key_opens_with_its_type_and_a_value_with_its_version() -> None:
    key, value = OffsetCommitKey("g", "t", 1), OffsetCommitValue(offset=5, commit_timestamp=6)
    raw_key, raw_value = encode_record_key(key), encode_record_value(value, 3)
    assert raw_key == bytes.fromhex("0001 0001 67 0001 74 00000001")
    assert raw_value == bytes.fromhex("0003 0000000000000005 ffffffff 0000 0000000000000006")
    assert decode_group_record(raw_key, raw_value) == (key, value)


def test_a_tombstone_has_a_key_alone() -> None:
    key = TransactionLogKey("payments")
    assert decode_transaction_record(encode_record_key(key), None) == (key, None)
    share = ShareSnapshotKey("g", Uuid(bytes(16)), 1)
    assert decode_share_record(encode_record_key(share), None) == (share, None)


def test_a_key_of_an_unknown_type_says_which() -> None:
    with pytest.raises(UnknownRecordType, match="no group record has type 9"):
        decode_group_record(bytes.fromhex("0009 0001 67"), None)


@pytest.mark.parametrize("raw", ["", "00"])
def test_a_key_without_a_type_is_malformed(raw: str) -> None:
    with pytest.raises(MalformedMessage, match="the record type is missing"):
        decode_group_record(bytes.fromhex(raw), None)


def test_bytes_behind_a_coordinator_value_are_ignored() -> None:
    key = TransactionLogKey("payments")
    value = TransactionLogValue(producer_id=1, transaction_partitions=None)
    raw = encode_record_value(value, 1) + b"later"
    assert decode_transaction_record(encode_record_key(key), raw) == (key, value)


def test_the_consumer_protocol_opens_with_its_version() -> None:
    subscription = ConsumerProtocolSubscription(topics=["t"], user_data=None)
    raw = encode_versioned(subscription, 0)
    assert raw == bytes.fromhex("0000 00000001 0001 74 ffffffff")
    assert decode_versioned(ConsumerProtocolSubscription, raw) == subscription
    with pytest.raises(MalformedMessage, match="the version is missing"):
        decode_versioned(ConsumerProtocolSubscription, b"\0")
