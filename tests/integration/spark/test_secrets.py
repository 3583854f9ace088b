"""The settings of clients reach executors, and are written down nowhere: logs, event log, UI, stores, what programs print."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import orjson
import pytest

from tests.integration.spark.formats.test_secure_clients import contents, filled
from tests.integration.spark.standalone_cluster import SMALL_EXECUTOR, linked_spark_home
from tests.integration.spark.tls_entrance import (
    PASSWORD,
    Entrance,
    sasl_entrance,
    tls_entrance,
)
from tests.patience import LONG_ENOUGH_S

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

_APPLICATION = """
import json, logging, sys, urllib.request
from pathlib import Path
from millstream.spark import PipelineFailed, RunnerOptions, SparkOptions, SparkStreams, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string

logging.basicConfig(level=logging.DEBUG)
given = json.loads(sys.argv[1])
session = configure(SparkOptions(master="local-cluster[1,1,1024]", ui=True, short_lived=True), **given["spark"])
context = session.sparkContext
context.setLogLevel("INFO")

def counting(check):
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string()).map_values(check)
    words.group_by(lambda _, word: word, key=string(), value=string()).count().to_stream().to("counts", value=long())
    return builder.build()

def fail(word):
    raise ValueError(word)

def application(name, check, **changed):
    options = RunnerOptions(
        bootstrap_servers=given["bootstrap"], directory=given["state"], client_settings=given["settings"] | changed
    )
    made = SparkStreams(counting(check), StreamsConfig(application_id=name), session, options)
    print(options, made, made.explain(), made._repr_html_(), vars(made))
    return made

working = application("works", str)
working.run_available()
failing = application("fails", fail)
for attempt in (failing.run_available, lambda: application("refused", str, **given["wrong"])):
    try:
        attempt()
    except Exception as error:
        print("it failed:", error, repr(error), repr(error.__cause__))
        logging.exception("failed")
base = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
for page in ("environment", "jobs", "stages?details=true", "allexecutors"):
    print(urllib.request.urlopen(f"{base}/{page}").read().decode())
for page in ("jobs", "stages", "environment"):
    print(urllib.request.urlopen(f"{context.uiWebUrl}/{page}/").read().decode())
print("looked", flush=True)
sys.stdin.read()
working.close()
failing.close()
session.stop()
"""
SECRET = PASSWORD.encode()
PATIENCE_S = 4 * LONG_ENOUGH_S


@pytest.mark.parametrize("door", ["SSL", pytest.param("SCRAM-SHA-256", marks=pytest.mark.cluster)])
def test_a_secret_is_written_nowhere(tmp_path: Path, door: str) -> None:
    home = linked_spark_home(tmp_path / "spark")
    for name in ("events", "scratch", "certificates"):
        (tmp_path / name).mkdir()
    spark = SMALL_EXECUTOR | {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{tmp_path / 'events'}",
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(tmp_path / "scratch"),
    }
    with opened(door, tmp_path / "certificates") as entrance:
        assert any(PASSWORD in value for value in entrance.settings.values())
        filled(entrance, "words", "counts", values="abc")
        given = {
            "spark": spark,
            "bootstrap": entrance.bootstrap_servers,
            "state": str(tmp_path / "state"),
            "settings": entrance.settings,
            "wrong": entrance.wrong_password,
        }
        out, log = tmp_path / "out", tmp_path / "log"
        with out.open("wb") as told, log.open("wb") as errors:
            driver = subprocess.Popen(
                [sys.executable, "-c", _APPLICATION, orjson.dumps(given).decode()],
                env=os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
                stdin=subprocess.PIPE, stdout=told, stderr=errors,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while "looked" not in out.read_text() and driver.poll() is None:
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.2)
        scratch = tmp_path / "scratch"
        readable = [each for each in holding_the_secret(scratch) if not is_private(each, scratch)]
        driver.communicate(timeout=PATIENCE_S)
        assert driver.returncode == 0, log.read_text()[-3000:]
        found = {row["key"] for row in contents(entrance, "counts")}
    assert found == {b"a", b"b", b"c"}
    assert out.read_text().count("it failed:") == 2, (
        "the topology's own fault, and the wrong password"
    )
    for written in (out, log, tmp_path / "events", tmp_path / "state", home / "work"):
        files = [each for each in (written, *written.rglob("*")) if each.is_file()]
        assert sum(each.stat().st_size for each in files) > 0, f"{written} has something to look at"
        assert holding_the_secret(written) == []
    assert readable == [], "Spark's scratch files, while it runs, are their owner's"
    assert holding_the_secret(scratch) == []


def opened(door: str, certificates: Path) -> AbstractContextManager[Entrance]:
    return tls_entrance(certificates) if door == "SSL" else sasl_entrance(certificates, door)


def holding_the_secret(place: Path) -> list[Path]:
    files = [each for each in (place, *place.rglob("*")) if each.is_file()]
    return [each for each in files if SECRET in each.read_bytes()]


def is_private(file: Path, below: Path) -> bool:
    """Whether a directory on the way to the file keeps everybody else out."""
    between = [each for each in file.parents if each.is_relative_to(below) and each != below]
    return any(stat.S_IMODE(each.stat().st_mode) & 0o077 == 0 for each in between)
