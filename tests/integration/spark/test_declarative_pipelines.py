"""A pipeline of `pyspark.pipelines`, out of the files that the guide shows: killed on the way, its next run leaves each row there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millstream.testing.broker import Broker
from tests.integration.spark.standalone_cluster import processes_of
from tests.patience import LONG_ENOUGH_S, wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
]

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "spark" / "sink.md"
PATIENCE_S = 5 * LONG_ENOUGH_S
ROWS = 2_000


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


def blocks_of_the_guide() -> tuple[str, str]:
    """The specification and the Python file."""
    section = GUIDE.read_text().split("## Declarative Pipelines\n")[1]
    specification, program = (
        section.split(f"```{language}\n")[1].split("```")[0] for language in ("yaml", "python")
    )
    return specification, program


def write_pipeline(directory: Path, broker: Broker) -> None:
    specification, program = blocks_of_the_guide()
    in_turns = '"subscribe", "orders").option("maxRecordsPerTrigger", "200")'
    program = program.replace("localhost:9092", broker.bootstrap_servers)
    program = program.replace('"subscribe", "orders")', in_turns)
    assert in_turns in program
    (directory / "transformations").mkdir()
    (directory / "transformations" / "copies.py").write_text(program)
    storage = (directory / "storage").as_uri()
    assert "file:///var/lib/copies" in specification
    specification = specification.replace("file:///var/lib/copies", storage)
    (directory / "spark-pipeline.yml").write_text(specification)


def started(directory: Path) -> subprocess.Popen[bytes]:
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("spark-pipelines")), "run"],
            cwd=directory, stdout=log, stderr=log, start_new_session=True,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip


def test_a_killed_pipeline_goes_on_and_each_row_is_there_once(
    own_broker: Broker, topics: Any, tmp_path: Path
) -> None:
    on_it = topics.of(own_broker)
    on_it.create("orders", 2)
    on_it.create("copies", 2)
    values = [b"%d" % number for number in range(ROWS)]
    on_it.put("orders", [{"value": value, "partition": int(value) % 2} for value in values])
    write_pipeline(tmp_path, own_broker)

    first = started(tmp_path)
    try:
        wait_for_rows(on_it, first, tmp_path)
    finally:
        kill(first)
    assert len(copied(on_it)) < ROWS, "it was killed on the way"

    second = started(tmp_path)
    try:
        assert second.wait(PATIENCE_S) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        kill(second)
    assert Counter(copied(on_it)) == Counter(values)


def kill(run: subprocess.Popen[bytes]) -> None:
    for pid in processes_of(run.pid):
        with suppress(ProcessLookupError):  # it has ended by itself meanwhile
            os.kill(pid, signal.SIGKILL)
    run.wait(LONG_ENOUGH_S)
    wait_until(lambda: processes_of(run.pid) == [])


def wait_for_rows(topics: Any, run: subprocess.Popen[bytes], directory: Path) -> None:
    def are_there() -> bool:
        assert run.poll() is None, (directory / "log").read_text()[-3000:]
        return bool(copied(topics))

    for _ in range(int(PATIENCE_S // LONG_ENOUGH_S)):
        try:
            return wait_until(are_there)
        except TimeoutError:
            continue
    raise AssertionError((directory / "log").read_text()[-3000:])


def copied(topics: Any) -> list[bytes]:
    rows = topics.get("copies", isolation_level="read_committed")
    return [row["value"] for row in rows]
