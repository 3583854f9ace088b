"""The guide's table of metrics is that of the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from millstream.spark.query_metrics.values import (
    QueryMetrics,
    SourceMetrics,
    SourcePartitionMetrics,
    SourceTopicMetrics,
    camel_case,
)

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "spark" / "metrics.md"
NESTED = {"sources", "topics", "partitions"}


def metrics_of(owner: str) -> set[str]:
    """The names in the rows of the table for a query, a source, a topic or a partition."""
    table = GUIDE.read_text().split("| metric | of | meaning |")[1].split("\n\n")[0]
    rows = [row.split("|")[1:3] for row in table.splitlines() if row.startswith("| `")]
    cells = [names for names, of in rows if of.strip() == owner]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize(
    ("owner", "values"),
    [
        ("query", QueryMetrics),
        ("source", SourceMetrics),
        ("topic", SourceTopicMetrics),
        ("partition", SourcePartitionMetrics),
    ],
)
def test_every_metric_stands_in_the_guide(owner: str, values: type) -> None:
    names = {field.name for field in fields(values)} - NESTED
    assert metrics_of(owner) == {camel_case(name) for name in names}
