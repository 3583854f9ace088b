"""The first example of docs/guide/spark.md runs and counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = Path(__file__).resolve().parents[3] / "docs/guide/spark.md"


def test_the_first_example_runs(spark: Any, topics: Any, tmp_path: Path) -> None:
    topics.create("words", 2)
    topics.create("counts", 2)
    topics.put("words", [{"value": word} for word in (b"spark", b"kafka", b"spark")])
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for here, there in {
        "localhost:9092": topics.bootstrap_servers,
        "/tmp/word-count": str(tmp_path),
        'SparkOptions(master="local[2]")': 'SparkOptions(master="local[2]", short_lived=True)',
    }.items():
        assert here in example
        example = example.replace(here, there)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["session"] is spark
    rows = {(bytes(row.key), int.from_bytes(row.value, "big")) for row in names["rows"].collect()}
    assert {(b"kafka", 1), (b"spark", 2)} <= rows
