"""`millstream.spark.configure()`: every setting it promises is in force in the running session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import ConfigError

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_PROBE = """
import json, sys
from pathlib import Path
from millstream.spark.session import SparkOptions, configure, settings
options = SparkOptions(master="local[1]", stream_tasks=3)
session = configure(options)
runtime = session.sparkContext.getConf()
java = session.sparkContext._jvm.java.lang.System
query = (
    session.readStream.format("rate-micro-batch").option("rowsPerBatch", "5").load()
    .writeStream.format("noop").option("checkpointLocation", sys.argv[1]).trigger(availableNow=True).start()
)
query.awaitTermination(60)
worker = session.range(1).mapInArrow(
    lambda batches: (__import__("pyarrow").RecordBatch.from_pylist([{"path": __import__("sys").executable}]) for _ in batches),
    "path string",
).collect()
print(json.dumps({
    "wanted": settings(options),
    "actual": {name: runtime.get(name) for name in settings(options)},
    "launch": java.getProperty("jdk.lang.Process.launchMechanism"),
    "partitions": session.conf.get("spark.sql.shuffle.partitions"),
    "checksums": [str(p) for p in Path(sys.argv[1]).rglob("*.crc")],
    "offsets": [str(p) for p in Path(sys.argv[1]).rglob("offsets/*")],
    "worker": worker[0]["path"],
}))
"""


def _probe(tmp_path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(tmp_path / "checkpoint")],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_setting_takes_effect(tmp_path: Path) -> None:
    report = _probe(tmp_path)
    for name, value in report["wanted"].items():
        assert report["actual"][name].endswith(value), name
    assert report["launch"] == "VFORK"
    assert report["partitions"] == "3"
    assert report["offsets"], "the stream ran and wrote its offset log"
    assert report["checksums"] == [], "the checkpoint has no .crc files"
    assert report["worker"] == sys.executable


_SUBMITTED = """
import logging, sys
from pathlib import Path
logging.basicConfig(level=logging.INFO)
from millstream.spark import SparkOptions, configure
given = None if sys.argv[2] == "None" else sys.argv[2]
session = configure(SparkOptions(master=given, app_name="submitted"))
Path(sys.argv[1]).write_text(session.sparkContext.master)
session.stop()
"""


@pytest.mark.parametrize(("given", "used"), [(None, "local[3]"), ("local[1]", "local[1]")])
def test_the_master_of_spark_submit_counts_unless_another_is_asked_for(
    tmp_path: Path, given: str | None, used: str
) -> None:
    program, told = tmp_path / "program.py", tmp_path / "master"
    program.write_text(_SUBMITTED)
    done = submitted("--master", "local[3]", str(program), str(told), str(given))
    assert told.read_text() == used
    assert "`millstream pipeline conf`" in done.stdout, "the JVM is there before the program"


def test_spark_submit_takes_the_settings_as_a_file(tmp_path: Path) -> None:
    program, told, file = tmp_path / "program.py", tmp_path / "master", tmp_path / "conf"
    program.write_text(_SUBMITTED)
    command = [sys.executable, "-m", "millstream.cli.main", "pipeline", "conf"]
    file.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    assert "spark.python.unix.domain.socket.enabled true" in file.read_text().splitlines()
    given = "--properties-file", str(file), "--master", "local[3]"
    done = submitted(*given, str(program), str(told), "None")
    assert told.read_text() == "local[3]"
    assert "`millstream pipeline conf`" not in done.stdout


def submitted(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("spark-submit")), *arguments],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from millstream.spark.session import configure

    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ConfigError, match=r"needs Java 17.*apt-get install openjdk-17"):
        configure()
    assert "SPARK_HOME" not in os.environ
