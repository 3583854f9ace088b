"""The records of `__transaction_state`, byte for byte as Kafka 4.3.1 writes them."""

from __future__ import annotations

import pytest

from millstream.coordinator.transaction.records import transaction_from_value, transaction_record
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.model import ProducerId, TopicPartition
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.transaction_records import TransactionLogValue
from millstream.protocol.record_frames import encode_record_key, encode_record_value
from tests.support.coordinators.transactions import SimTransactions

ONGOING = TransactionMetadata(
    "x",
    ProducerId(1000),
    3,
    60_000,
    TransactionState.ONGOING,
    frozenset({TopicPartition("t", 1), TopicPartition("t", 0)}),
    start_timestamp_ms=5,
    last_update_timestamp_ms=6,
    previous_producer_id=ProducerId(1000),
    client_version=TransactionVersion.TV_2,
)


def encoded(transaction: TransactionMetadata, level: int) -> tuple[str, str]:
    record = transaction_record(transaction, TransactionVersion(level))
    assert record.value is not None
    value = encode_record_value(record.value, record.value_version)
    return encode_record_key(record.key).hex(), value.hex()


def test_at_level_2_the_value_has_tagged_fields() -> None:
    assert (
        encoded(ONGOING, 2)
        == (
            "0000000178",
            "0001"  # version
            "00000000000003e80003"  # producer id and epoch
            "0000ea6001"  # time-out, status
            "020274030000000000000001" + "00"  # one topic, "t", partitions 0 and 1
            "00000000000000060000000000000005"  # last update, start
            "02" + "000800000000000003e8" + "02020002",  # previous producer id, client version
        )
    )


def test_at_level_0_it_has_not() -> None:
    assert encoded(ONGOING, 0)[1] == (
        "0000" + "00000000000003e80003" + "0000ea6001"
        "00000001" + "000174" + "00000002" + "0000000000000001"
        "00000000000000060000000000000005"
    )


def test_an_empty_one_has_no_partitions_and_no_start(world: SimTransactions) -> None:
    world.init()
    assert world.log[0][1] is not None
    value, _ = TransactionLogValue.decode(memoryview(world.log[0][1]), 2, 1)
    assert (value.transaction_partitions, value.transaction_start_timestamp_ms) == (None, -1)
    assert (value.previous_producer_id, value.client_transaction_version) == (1000, 0)


@pytest.mark.parametrize("level", [1, 2])
def test_from_level_1_on_nothing_is_lost(level: int) -> None:
    value = transaction_record(ONGOING, TransactionVersion(level)).value
    assert isinstance(value, TransactionLogValue)
    assert transaction_from_value("x", value) == ONGOING
