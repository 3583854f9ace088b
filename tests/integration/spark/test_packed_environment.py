"""An installation that is packed, unpacked elsewhere and used by executors that have nothing but Python and Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from millstream.spark.pipeline.messages import Hello
from millstream.testing.broker import Broker
from tests.integration.spark.standalone_cluster import SMALL_EXECUTOR, standalone_cluster
from tests.integration.spark.test_hosts import host

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

_APPLICATION = """
import sys
from pathlib import Path
import millstream
from millstream.spark import RunnerOptions, SparkStreams, configure
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import long, string

def place(word):
    import millstream
    return f"{word} {millstream.__file__}"

session = configure()
builder = StreamsBuilder()
words = builder.stream("words", key=string(), value=string()).map_values(place)
words.group_by(lambda _, word: word, key=string(), value=string()).count().to_stream().to("counts", value=long())
options = RunnerOptions(bootstrap_servers=sys.argv[1], directory=sys.argv[2])
with SparkStreams(builder.build(), StreamsConfig(application_id="packed"), session, options) as application:
    application.run_available()
Path(sys.argv[3]).write_text(session.sparkContext.master)
session.stop()
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("packed") / "environment.tar.gz"
    command = [sys.executable, "-m", "millstream.cli.main", "pipeline", "pack", str(file)]
    done = subprocess.run([*command, "--output", "json"], capture_output=True, check=True)
    names = {each["distribution"] for each in json.loads(done.stdout)}
    assert {"millstream", "pyarrow", "rocksdict"} <= names
    return file


def without_our_sources() -> dict[str, str]:
    """The environment of a machine that has Python and nothing of this checkout."""
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = [each for each in bare["PATH"].split(":") if ".venv" not in each]
    return bare | {"PATH": ":".join(path)}


def test_a_task_host_runs_out_of_the_archive(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    python = str(tmp_path / "bin" / "python")
    with host(tmp_path / "host.socket", python=python, environment=without_our_sources()) as told:
        assert told.ask(Hello()) == Hello()
        assert "lib/millstream" in Path(f"/proc/{told.pid}/maps").read_text()


@pytest.mark.cluster
def test_spark_submit_runs_a_topology_with_the_archive_on_its_master(
    packed: Path, topics: Any, tmp_path: Path
) -> None:
    program, told = tmp_path / "program.py", tmp_path / "master"
    program.write_text(_APPLICATION)
    with (
        Broker(in_process=False) as broker,
        standalone_cluster(tmp_path / "cluster", workers=1, environment=without_our_sources()) as cluster,
    ):  # fmt: skip
        topics = topics.of(broker)
        topics.create("words", 2)
        topics.create("counts", 2)
        topics.put("words", [{"value": word.encode()} for word in "abca"])
        settings = SMALL_EXECUTOR | {
            "spark.pyspark.python": "./environment/bin/python",
            "spark.pyspark.driver.python": sys.executable,
        }
        conf = [f"--conf={name}={value}" for name, value in settings.items()]
        done = subprocess.run(
            [str(Path(cluster.environment["SPARK_HOME"], "bin", "spark-submit")), "--master", cluster.url,
             "--archives", f"{packed}#environment", *conf, str(program),
             broker.bootstrap_servers, str(tmp_path / "state"), str(told)],
            env={**os.environ, "SPARK_HOME": cluster.environment["SPARK_HOME"]},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        assert told.read_text() == cluster.url
        counted = {
            row["key"].decode(): int.from_bytes(row["value"], "big") for row in topics.get("counts")
        }
    assert {key.split()[0]: count for key, count in counted.items()} == {"a": 2, "b": 1, "c": 1}
    for key in counted:
        path = Path(key.split()[1])
        assert path.is_relative_to(tmp_path / "cluster"), (
            "the executor's, not the one of the driver"
        )
        assert path.match("environment/lib/millstream/__init__.py")
