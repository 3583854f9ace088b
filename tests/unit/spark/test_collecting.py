"""Workers of Spark, and what their garbage collector sees."""

from __future__ import annotations

import subprocess
import sys

import pytest

_MAKE_A_WRITER = """
from pyspark.sql.types import StructType
from millstream.spark.data_source import MillstreamSource
schema = StructType().add("value", "binary")
options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "out"}
"""


@pytest.mark.parametrize(
    "asked",
    [
        "MillstreamSource(options).streamWriter(schema, False)",
        "MillstreamSource(options).writer(schema, False)",
        "from millstream.spark.sink.writers import StreamWriter; StreamWriter.commit(None, [], 0)",
    ],
)
def test_what_spark_asks_for_each_micro_batch_leaves_the_collector_nothing_to_visit(
    asked: str,
) -> None:
    """Spark collects after each of them."""
    program = (
        f"{_MAKE_A_WRITER}\n{asked}\nimport gc; print(len(gc.get_objects()), gc.get_freeze_count())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    seen, frozen = map(int, shown.split())
    assert seen < 1_000
    assert frozen > 50_000
