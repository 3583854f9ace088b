"""Versions of records by metadata.version, and what is lost when it goes down: as `MetadataVersion` of Kafka 4.3.1 has them."""

from __future__ import annotations

import pytest

from millstream.metadata.features import METADATA_VERSIONS, loses_metadata
from millstream.metadata.record_versions import record_version
from millstream.protocol.generated.metadata_records import (
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)

LEVELS = range(7, 31)
KAFKA = {
    RegisterBrokerRecord: [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4],
    PartitionRecord: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2],
    PartitionChangeRecord: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2],
    RegisterControllerRecord: [0] * 24,
    TopicRecord: [0] * 24,
}
"""For each level from 7 to 30: registerBrokerRecordVersion, partitionRecordVersion, partitionChangeRecordVersion and so on."""


@pytest.mark.parametrize("kind", KAFKA)
def test_a_record_has_the_version_that_kafka_gives_it(kind: type) -> None:
    assert [record_version(kind(), level) for level in LEVELS] == KAFKA[kind]


def test_what_has_new_metadata_is_lost_on_the_way_down() -> None:
    """`checkIfMetadataChanged` of each level and the one before it."""
    changed = {level for level in METADATA_VERSIONS if loses_metadata(level, level - 1)}
    assert changed == {8, 11, 13, 14, 15, 17, 23, 30}


def test_nothing_is_lost_on_the_way_up_or_where_nothing_was_added() -> None:
    assert not loses_metadata(22, 30)
    assert not loses_metadata(29, 23)
    assert loses_metadata(30, 23)
    assert loses_metadata(23, 22)
