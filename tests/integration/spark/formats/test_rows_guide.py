"""The examples of docs/guide/spark/rows.md run, one after the other, and give what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = Path(__file__).resolve().parents[4] / "docs/guide/spark/rows.md"


def test_the_examples_run(spark: Any, topics: Any) -> None:
    for name in ("orders", "orders-bad", "orders-checked"):
        topics.create(name, 2)
    topics.put("orders", [{"key": b"k", "value": b'{"id": 1, "name": "a", "items": ["x"]}'}])
    names: dict[str, Any] = {"session": spark, "bootstrap_servers": topics.bootstrap_servers}
    first, lines, with_letters, write, functions = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
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
