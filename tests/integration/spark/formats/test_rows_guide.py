"""The examples of docs/guide/spark/rows.md, and that of a range of time in source.md, run and give what the pages say."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

GUIDE = Path(__file__).resolve().parents[4] / "docs/guide/spark"
PAGE = GUIDE / "rows.md"


def test_the_examples_run(spark: Any, topics: Any) -> None:
    for name in ("orders", "orders-bad", "orders-checked"):
        topics.create(name, 2)
    topics.put("orders", [{"key": b"k", "value": b'{"id": 1, "name": "a", "items": ["x"]}'}])
    names: dict[str, Any] = {"session": spark}
    first, lines, with_letters, write, functions = re.findall(
        r"^```python\n(.*?)^```$",
        PAGE.read_text().replace("localhost:9092", topics.bootstrap_servers),
        re.MULTILINE | re.DOTALL,
    )
    exec(first, names)
    assert [tuple(row) for row in names["names"].collect()] == [("k", 1, "a")]
    topics.put("orders", [{"key": b"k", "value": b"no JSON"}])
    for block in (lines, with_letters, write, functions):
        exec(block, names)
    assert names["lines"](None, b"a\nb", "orders", 0, 0, 0, []) == [
        {"number": 0, "line": "a"},
        {"number": 1, "line": "b"},
    ]
    assert names["by_country"]({"key": b"fr"}) == "orders-fr"
    assert names["by_length"](None, b"abc", 2) == 1
    assert [row["value"] for row in topics.get("orders-checked")] == [b'{"id":1,"name":"a"}']
    assert {row["value"] for row in topics.get("orders-bad")} == {b"no JSON"}


def test_a_range_of_time_is_a_frame_of_pandas(spark: Any, topics: Any) -> None:
    topic = topics.new(partitions=2, message_timestamp_after_max_ms=str(2**63 - 1))
    day = datetime(2026, 11, 28, tzinfo=UTC)
    amounts = {-1: "1", 0: "12345678901234567.89", 23: "0.10", 24: "5"}
    topics.put(
        topic,
        [
            {
                "key": b"k",
                "value": b'{"amount": %s}' % amount.encode(),
                "timestamp_ms": int((day + timedelta(hours=hour)).timestamp() * 1000),
                "partition": 1,
            }
            for hour, amount in amounts.items()
        ],
    )
    names: dict[str, Any] = {"session": spark}
    section = (GUIDE / "source.md").read_text().partition("## A range of time")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    example = example.replace('"subscribe", "orders"', f'"subscribe", "{topic}"')
    exec(example.replace("localhost:9092", topics.bootstrap_servers), names)
    assert names["totals"].to_dict() == {"k": Decimal("12345678901234567.99")}
