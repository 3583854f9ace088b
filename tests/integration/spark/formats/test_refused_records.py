"""Records that brokers refuse for good: what becomes of a write with each guarantee."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("guarantee", "committed"),
    [("exactly-once", set()), ("at-least-once", {b"0", b"1", b"2"}), ("none", {b"0", b"1", b"2"})],
)
def test_one_refused_record_fails_the_write_unless_nothing_is_guaranteed(
    spark: Any, topics: Any, guarantee: str, committed: set[bytes]
) -> None:
    """Exactly once nothing of the task becomes visible, else what was taken stays."""
    topic = topics.new(partitions=2, max_message_bytes="1000")
    rows = spark.range(0, 4, 1, 1).selectExpr(
        "IF(id = 3, repeat('x', 5000), CAST(id AS string)) AS value",
        "IF(id = 3, 1, 0) AS partition",
    )
    options = {"bootstrap.servers": topics.bootstrap_servers, "topic": topic}
    sink = rows.write.format("millstream").options(**options, deliveryGuarantee=guarantee)
    if guarantee == "none":
        sink.mode("append").save()
    else:
        with pytest.raises(Exception, match=r"MessageTooLarge|max\.message\.bytes of the topic"):
            sink.mode("append").save()
    written = topics.get(topic, isolation_level="read_committed")
    assert {row["value"] for row in written} == committed
