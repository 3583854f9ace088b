"""`millstream cluster` as a process: its ready line, its children, and how all of them end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from millstream.cli.cluster.directory import ClusterDirectory
from millstream.clients import NewTopic
from millstream.clients.blocking import Admin
from millstream.log.directory.text_checkpoints import LOCK_FILE
from millstream.runtime.system import SystemFileSystem
from tests.integration.cli.conftest import MILLSTREAM
from tests.patience import LONG_ENOUGH_S, wait_until


class Running(NamedTuple):
    process: subprocess.Popen[str]
    fields: dict[str, str]

    @property
    def nodes(self) -> dict[int, psutil.Process]:
        """The children by the number of their node."""
        found = {}
        for each in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error):
                for word in each.cmdline():  # of one that was killed just now there is none
                    if word.endswith(".properties"):
                        found[int(Path(word).stem.removeprefix("node-"))] = each
        return found

    def ended(self) -> tuple[int, list[str]]:
        """The exit code, and what was said on standard error after the table of the start."""
        _, said = self.process.communicate(timeout=LONG_ENOUGH_S)
        lines = said.splitlines()
        table = next((at for at, line in enumerate(lines) if "security" in line), -1)
        return self.process.returncode, lines[table + 1 :]


def started(data: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MILLSTREAM, "cluster", "--data", str(data), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[Running]:
    process = started(data, *arguments)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("millstream ready "), process.communicate()
        yield Running(process, dict(field.split("=", 1) for field in line.split()[2:]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.nodes
def test_three_nodes_start_stop_in_order_and_come_back(tmp_path: Path) -> None:
    with running(tmp_path / "c", "--port", "0") as made:
        assert made.fields["nodes"] == "3"
        assert made.fields["pid"] == str(made.process.pid)
        with Admin(bootstrap_servers=made.fields["bootstrap"]) as admin:
            admin.create_topics([NewTopic("t", 3)]).raise_errors()
        with Admin(bootstrap_controllers=made.fields["bootstrap_controller"]) as admin:
            assert len(admin.describe_metadata_quorum().voters) == 3
        made.process.terminate()
        assert made.ended() == (0, [])
    for node in (1, 2, 3):
        log = (tmp_path / "c" / f"node-{node}.log").read_text()
        assert "did not let this broker go" not in log
        assert "SIGTERM: shutting down" in log
        assert "shut down completed" in log
        assert "Traceback" not in log
    with running(tmp_path / "c") as again:
        assert again.fields | {"pid": ""} == made.fields | {"pid": ""}
        with Admin(bootstrap_servers=again.fields["bootstrap"]) as admin:
            assert admin.list_topics() == made_topics(["t"], admin)
        again.nodes[2].kill()
        wait_until(lambda: 2 not in again.nodes)
        again.process.send_signal(signal.SIGINT)
        log = tmp_path / "c" / "node-2.log"
        assert again.ended() == (1, [f"error: node 2 died (killed by SIGKILL); its log: {log}"])


def made_topics(names: list[str], admin: Admin) -> object:
    listed = admin.list_topics()
    assert sorted(listed) == names
    return listed


@pytest.mark.nodes
def test_a_node_that_dies_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    with running(tmp_path / "c", "--port", "0") as made:
        made.nodes[2].kill()
        log = tmp_path / "c" / "node-2.log"
        assert made.process.stderr is not None
        wait_until(lambda: 2 not in made.nodes)
        with Admin(bootstrap_servers=made.fields["bootstrap"]) as admin:
            admin.create_topics([NewTopic("t", 1)]).raise_errors()
        made.process.terminate()
        assert made.ended() == (1, [f"error: node 2 died (killed by SIGKILL); its log: {log}"])


@pytest.mark.nodes
def test_a_second_signal_kills(tmp_path: Path) -> None:
    with running(tmp_path / "c", "--port", "0") as made:
        nodes = made.nodes
        nodes[1].suspend()  # it cannot stop in order
        made.process.terminate()
        wait_until(lambda: "SIGTERM" in (tmp_path / "c" / "node-2.log").read_text())
        made.process.terminate()
        code, said = made.ended()
        assert code == 1
        assert said[0] == "error: SIGTERM again: the nodes are killed"
        assert not any(each.is_running() for each in nodes.values())


@pytest.mark.nodes
def test_no_node_outlives_the_parent_not_even_a_paused_one(tmp_path: Path) -> None:
    with running(tmp_path / "c", "--port", "0") as made:
        nodes = list(made.nodes.values())
        nodes[0].suspend()
        made.process.kill()
        psutil.wait_procs(nodes, LONG_ENOUGH_S)
        assert not any(each.is_running() for each in nodes)


@pytest.mark.nodes
def test_a_node_that_cannot_start_ends_the_others_and_is_quoted(tmp_path: Path) -> None:
    directory = ClusterDirectory(tmp_path / "c")
    made = directory.prepare(directory.layout(port=0))
    held = SystemFileSystem().lock(str(directory.data(made.nodes[1]) / LOCK_FILE))
    other = started(directory.path)
    _, said = other.communicate(timeout=LONG_ENOUGH_S)
    held.close()
    assert other.returncode == 1
    assert said.startswith("error: node 2 did not start (exit code 1; ")
    assert len(said.splitlines()) == 1


@pytest.mark.nodes
def test_a_directory_serves_one_cluster_which_a_second_start_leaves_as_it_is(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "c", "--port", "0") as made:
        before = texts(tmp_path / "c")
        other = started(tmp_path / "c", "--port", "9092")
        _, said = other.communicate(timeout=LONG_ENOUGH_S)
        assert other.returncode == 2
        assert said == (
            f"error: {tmp_path}/c is of a cluster that runs; stop it, or choose another directory with --data\n"
        )
        assert texts(tmp_path / "c") == before
        assert len(made.nodes) == 3
        os.kill(made.process.pid, signal.SIGTERM)
        assert made.ended() == (0, [])


def texts(directory: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in directory.glob("*.properties")}
