"""A session that `configure()` did not make, as notebooks and platforms give one: TCP sockets, no daemon of ours, Spark's defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

_APPLICATION = """
import sys
from pyspark.sql import SparkSession
from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
builder = StreamsBuilder()
words = builder.stream(sys.argv[2], key=string(), value=string())
words.group_by(lambda _, word: word, key=string(), value=string()).count().to_stream().to(sys.argv[3], value=long())
options = RunnerOptions(bootstrap_servers=sys.argv[1], directory=sys.argv[4])
application = SparkStreams(builder.build(), StreamsConfig(application_id=sys.argv[2]), session, options)
application.run_available()
if sys.argv[5] == "stop":
    session.stop()
application.close()
"""


@pytest.mark.parametrize("first", [pytest.param("close", marks=pytest.mark.cluster), "stop"])
def test_a_topology_runs_on_a_session_of_its_owner(topics: Any, tmp_path: Path, first: str) -> None:
    """The owner may stop the session before the application is closed."""
    source, out = topics.new("words", 2), topics.new("counts", 2)
    topics.put(source, [{"value": word.encode()} for word in "abca"])
    done = subprocess.run(
        [sys.executable, "-c", _APPLICATION, topics.bootstrap_servers, source, out, str(tmp_path), first],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, check=False, timeout=LONG_ENOUGH_S * 4,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    counted = {row["key"]: int.from_bytes(row["value"], "big") for row in topics.get(out)}
    assert counted == {b"a": 2, b"b": 1, b"c": 1}
