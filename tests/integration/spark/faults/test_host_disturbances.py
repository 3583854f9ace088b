"""Two executors at once on one task, a host that stands still in a transaction, and a disk that is full: the work is done once."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import (
    Application,
    ApplicationWanted,
    Reply,
    RunTask,
    RunTasks,
    TaskFailed,
)
from millstream.streams import StreamsBuilder
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.runtime.report import TaskReport
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology
from tests.integration.spark.test_hosts import Host, host
from tests.patience import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
WORDS = 5
ROUNDS = 6
PAUSE_S = 1.0
"""A word of this length of processing is being counted when its host is stopped."""


def counting(source: str, out: str, marks: Path) -> Topology:
    """Each word leaves a mark while it is counted; `slow` takes its time."""

    def mark(word: str) -> str:
        marks.joinpath(word).touch()
        if word == "slow":
            time.sleep(PAUSE_S)
        return word

    builder = StreamsBuilder()
    words = builder.stream(source, key=string(), value=string()).map_values(mark)
    words.group_by_key().count().to_stream().to(out, value=long())
    return builder.build().with_own_changelogs()


class Executor:
    """A host with a disk of its own, and what a Spark worker asks of it."""

    def __init__(self, application: HostedApplication, connected: Host) -> None:
        self.pid = connected.pid
        self._application = application
        self._pickled = application.pickled()
        self._host = connected

    def run(self, topic: str, end: int) -> Reply:
        config, (group,) = self._application.config, self._application.topology.sub_topologies
        task = RunTask(group.id, 0, (topic,), {topic: end})
        answer = self._host.ask(RunTasks(config.application_id, digest_of(self._pickled), (task,)))
        if isinstance(answer, ApplicationWanted):
            answer = self._host.ask(Application(self._pickled, tuple(sys.path)))
        assert isinstance(answer, tuple)
        (reply,) = answer
        assert isinstance(reply, TaskReport | TaskFailed)
        return reply

    def run_until_done(self, topic: str, end: int) -> TaskReport:
        """As the driver does, which repeats what may be repeated."""
        for _ in range(20):
            reply = self.run(topic, end)
            if isinstance(reply, TaskReport):
                return reply
            assert reply.is_retriable, reply
        raise AssertionError(f"it never succeeds: {reply}")


class World:
    def __init__(self, topics: Any, directory: Path, stack: ExitStack) -> None:
        self.topics, self.directory = topics, directory
        self.source, self.out = topics.new("words"), topics.new("counts")
        self.marks = directory / "marks"
        self.marks.mkdir()
        self._topology = counting(self.source, self.out, self.marks)
        self._config = StreamsConfig(
            application_id=f"app-{self.source}",
            processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2,
        )
        self._stack = stack
        (group,) = self._topology.sub_topologies
        for changelog in self._topology.topics_of(group, self._config.application_id).changelogs:
            topics.create(changelog)

    def executor(self, name: str) -> Executor:
        kafka = for_both({"bootstrap.servers": self.topics.bootstrap_servers})
        place = self.directory / name
        place.mkdir()
        application = HostedApplication(self._topology, self._config, kafka, str(place))
        return Executor(application, self._stack.enter_context(host(place / "socket")))

    def put(self, *words: str) -> None:
        self.topics.put(self.source, [{"key": b"k", "value": word.encode()} for word in words])

    def counts(self) -> list[int]:
        """What a reader sees that is read_committed."""
        found = self.topics.get(self.out, isolation_level="read_committed")
        return [int.from_bytes(row["value"], "big") for row in found]


@pytest.fixture
def world(topics: Any, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(topics, tmp_path, stack)


def test_twins_of_a_run_do_its_work_once(world: World) -> None:
    """Spark starts a second attempt of a task that is slow (spark.speculation), on another executor, and takes whichever ends first."""
    one, other = world.executor("one"), world.executor("other")
    with ThreadPoolExecutor(2) as twins:
        for end in range(WORDS, (ROUNDS + 1) * WORDS, WORDS):
            world.put(*["word"] * WORDS)
            both = [twins.submit(each.run, world.source, end) for each in (one, other)]
            for reply in (each.result() for each in both):
                assert isinstance(reply, TaskReport) or reply.is_retriable, reply
            one.run_until_done(world.source, end)
    assert world.counts() == list(range(1, ROUNDS * WORDS + 1))


def test_a_host_that_is_stopped_while_another_does_its_work_changes_nothing_when_it_goes_on(
    world: World,
) -> None:
    stopped, other = world.executor("stopped"), world.executor("other")
    world.put("first")
    stopped.run_until_done(world.source, 1)
    world.put("slow")
    with ThreadPoolExecutor(1) as waiting:
        run = waiting.submit(stopped.run, world.source, 2)
        wait_until((world.marks / "slow").exists)
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            other.run_until_done(world.source, 2)
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        reply = run.result()
    assert isinstance(reply, TaskFailed)
    assert reply.is_retriable, reply
    world.put("last")
    stopped.run_until_done(world.source, 3)
    assert world.counts() == [1, 2, 3]


def test_a_disk_that_is_full_costs_nothing_once_there_is_room(world: World) -> None:
    executor = world.executor("one")
    world.put("first")
    executor.run_until_done(world.source, 1)
    world.put("second")
    limits = resource.prlimit(executor.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    reply = executor.run(world.source, 2)
    assert isinstance(reply, TaskFailed)
    assert reply.is_retriable, reply
    assert isinstance(executor.run(world.source, 2), TaskFailed), "there is no room yet"
    resource.prlimit(executor.pid, resource.RLIMIT_FSIZE, limits)
    world.put("third")
    executor.run_until_done(world.source, 3)
    assert world.counts() == [1, 2, 3]
