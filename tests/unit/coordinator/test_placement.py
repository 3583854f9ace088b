from __future__ import annotations

import pytest

from millstream.coordinator.record import java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),
        ("über", 7604755),
        ("😀", 1772899),
    ],
)
def test_hash_is_that_of_java_strings(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@pytest.mark.parametrize(
    ("group", "partition"),
    [("test", 48), ("csmr_grp_01", 19), ("polygenelubricants", 0), ("", 0)],
)
def test_group_is_coordinated_by_the_partition_kafka_chooses(group: str, partition: int) -> None:
    assert partition_for(group, 50) == partition
