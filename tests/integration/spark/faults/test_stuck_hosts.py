"""A task host that has been stopped: the worker that waits for it ends it, and the next host does the work, once."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline import host_link
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import Reply, RunTask, RunTasks
from millstream.streams.config import StreamsConfig
from millstream.streams.runtime.report import TaskReport
from tests.integration.spark.test_hosts import counting
from tests.patience import wait_until
from tests.support.kills.orders import children_of, stat_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
SOON_S = 2.0
"""Instead of a minute without a sign of life. A host that is not stopped says it every five seconds, or has done its work."""


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is the executor; its hosts have their sockets in a directory with a short name."""
    temporary = tempfile.mkdtemp(prefix="stuck")
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    monkeypatch.setattr(host_link, "executor_pid", os.getpid)
    yield
    for pid in hosts():
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda pid=pid: has_ended(pid))
    assert not list(Path(temporary).glob("millstream-*/*")), "nothing is left of them"
    shutil.rmtree(temporary)


def hosts() -> list[int]:
    return [
        pid
        for pid in children_of(os.getpid())
        if b"host_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def has_ended(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is None or stat[0] == "Z"


@pytest.mark.filterwarnings(  # hosts outlive the workers that start them
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_host_that_was_stopped_is_ended_and_its_task_goes_on_elsewhere(
    executor: None, topics: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = topics.new("words"), topics.new("counts")
    config = StreamsConfig(application_id=f"app-{source}")
    topology = counting(source, out)
    (group,) = topology.sub_topologies
    for changelog in topology.topics_of(group, config.application_id).changelogs:
        topics.create(changelog)
    kafka = for_both({"bootstrap.servers": topics.bootstrap_servers})
    pickled = HostedApplication(topology, config, kafka, str(tmp_path)).pickled()

    def run(end: int) -> Reply:
        task = RunTask(group.id, 0, (source,), {source: end})
        request = RunTasks(config.application_id, digest_of(pickled), (task,))
        (reply,) = host_link.run_tasks(request, lambda: pickled, 0, bytes(32))
        return reply

    topics.put(source, [{"key": b"k", "value": b"v"}] * 2)
    first = run(1)
    assert isinstance(first, TaskReport), first
    (stopped,) = hosts()
    os.kill(stopped, signal.SIGSTOP)
    with monkeypatch.context() as impatient:
        impatient.setattr(host_link, "HELLO_TIMEOUT_S", SOON_S)
        second = run(2)
        gc.collect()
    assert isinstance(second, TaskReport), second
    wait_until(lambda: has_ended(stopped))
    counts = [int.from_bytes(record["value"], "big") for record in topics.get(out)]
    assert counts == [1, 2]
