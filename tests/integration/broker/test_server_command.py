"""`millstream server` as a process: its ready line, its end, and what it says when it cannot start."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millstream.clients import blocking
from millstream.clients.admin import ConfigResource, ConfigResourceType
from tests.patience import LONG_ENOUGH_S

VOTERS = Path(__file__).parents[2] / "fixtures" / "kafka-4.3.1-voters.tar.gz"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "millstream.cli.main", "server", *arguments]


@contextmanager
def running(
    *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A server that has said it is ready, and the fields of its ready line."""
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("millstream ready "):
        process.kill()
        pytest.fail(f"no ready line but {line!r}:\n{process.communicate()[1]}")
    try:
        yield process, dict(field.split("=", 1) for field in line.split()[2:])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def refused(*arguments: str) -> tuple[int, str]:
    """Exit code and the last line on standard error of a server that does not start."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.returncode, done.stderr.strip().splitlines()[-1]


def test_the_ready_line_names_what_scripts_need(tmp_path: Path) -> None:
    with running("--data", str(tmp_path / "d"), "--port", "0") as (process, fields):
        assert list(fields) == ["bootstrap", "node", "cluster", "data", "pid"]
        assert fields["node"] == "1"
        assert fields["data"] == str(tmp_path / "d")
        assert fields["pid"] == str(process.pid)
        assert len(fields["cluster"]) == 22
        host, _, port = fields["bootstrap"].rpartition(":")
        socket.create_connection((host, int(port)), timeout=LONG_ENOUGH_S).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_logged_by_name_and_is_a_clean_shutdown(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running("--data", str(tmp_path), "--port", "0") as (process, _):
        process.send_signal(number)
        assert process.wait(LONG_ENOUGH_S) == 0
        assert process.stderr is not None
        assert f"{number.name}: shutting down" in process.stderr.read()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n0\n"


def test_the_same_cluster_comes_back_after_a_crash(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0") as (process, first):
        process.kill()
        process.wait()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    with running("--data", str(tmp_path), "--port", "0") as (_, second):
        assert second["cluster"] == first["cluster"]


def test_an_ephemeral_node_leaves_nothing() -> None:
    with running("--ephemeral", "--port", "0") as (process, fields):
        assert Path(fields["data"]).is_dir()
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == 0
        assert not Path(fields["data"]).exists()


@pytest.mark.parametrize(
    ("options", "delay_ms"),
    [
        (("--ephemeral",), "0"),
        (("--ephemeral", "--override", "group.initial.rebalance.delay.ms=7"), "7"),
        ((), "3000"),
    ],
)
def test_groups_of_an_ephemeral_node_start_at_once(
    options: tuple[str, ...], delay_ms: str, tmp_path: Path
) -> None:
    """Kafka waits 3 s for more members; who only tries something out would wait them every time."""
    with running(*options, "--data", str(tmp_path), "--port", "0") as (_, fields):
        with blocking.Admin(bootstrap_servers=fields["bootstrap"]) as admin:
            broker = ConfigResource(ConfigResourceType.BROKER, fields["node"])
            configs = admin.describe_configs([broker]).result(broker)
        assert configs["group.initial.rebalance.delay.ms"].value == delay_ms


def test_it_ends_with_its_parent_when_told_to() -> None:
    process = subprocess.Popen(
        command("--ephemeral", "--port", "0", "--until-end-of-input"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline().startswith(b"millstream ready")
    process.stdin.close()
    assert process.wait(LONG_ENOUGH_S) == 0
    process.stdout.close()


def test_settings_come_from_a_file_and_overrides_win(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        f"node.id=5\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path}/a\nnum.io.threads=8\n"
    )
    with running(str(file), "--override", "node.id=7") as (_, fields):
        assert fields["node"] == "7"
        assert fields["data"] == f"{tmp_path}/a"


def test_the_environment_beats_the_file_as_in_kafkas_image(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=5\nlisteners=PLAINTEXT://127.0.0.1:0\n")
    environment = {
        "KAFKA_NODE_ID": "6",
        "KAFKA_LOG_DIRS": f"{tmp_path}/b",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    }
    with running(str(file), **environment) as (_, fields):
        assert fields["node"] == "6"
        assert fields["data"] == f"{tmp_path}/b"
        assert fields["cluster"] == "4L6g3nShT-eMCtK--X86sw"


def test_the_log_tells_the_life_of_the_node_in_order(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0", "--log-format", "json") as (
        process,
        fields,
    ):
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == 0
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    assert {event["node"] for event in events} == {1}
    told = [event["message"] for event in events]
    assert told[0].startswith("starting Millstream ")
    assert told[-1] == "shut down completed"
    life = ["NOT_RUNNING -> STARTING", "STARTING -> RECOVERY", "RECOVERY -> RUNNING", "started",
            "SIGTERM: shutting down", "RUNNING -> PENDING_CONTROLLED_SHUTDOWN",
            "PENDING_CONTROLLED_SHUTDOWN -> SHUTTING_DOWN", "SHUTTING_DOWN -> NOT_RUNNING"]  # fmt: skip
    assert [message for message in told if message in life] == life
    assert any(line.startswith("  durability  auto: ") for line in lines)
    assert f"  listeners   PLAINTEXT://{fields['bootstrap']}" in lines
    assert any(f"node 1 of cluster {fields['cluster']}" in line for line in lines)


def test_log_levels_come_from_the_environment(tmp_path: Path) -> None:
    arguments = ("--data", str(tmp_path), "--port", "0")
    with running(*arguments, KAFKA_LOG4J_ROOT_LOGLEVEL="ERROR") as (process, _):
        process.terminate()
        assert process.wait(LONG_ENOUGH_S) == 0
        assert process.stderr is not None
        assert "INFO" not in process.stderr.read()


def test_two_signals_are_one_clean_shutdown(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0") as (process, _):
        process.terminate()
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG_ENOUGH_S) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_version_is_printed_without_a_node() -> None:
    done = subprocess.run(command("--version"), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("millstream, version ")


@pytest.mark.parametrize("arguments", [("/no/such/file",), ("a", "b"), ("--overide", "a=b")])
def test_a_command_line_that_cannot_be_understood_exits_with_2(arguments: tuple[str, ...]) -> None:
    code, line = refused(*arguments)
    assert code == 2
    assert line.startswith("Error: ")


def test_a_busy_port_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = refused("--data", str(tmp_path), "--port", str(port))
    assert code == 1
    assert f"127.0.0.1:{port}: another process uses that port" in line
    assert list(tmp_path.iterdir()) == []


def test_a_port_out_of_range_is_said(tmp_path: Path) -> None:
    code, line = refused("--data", str(tmp_path), "--port", "70000")
    assert code == 2
    assert "70000 is not in the range" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every port")
def test_a_privileged_port_is_said(tmp_path: Path) -> None:
    code, line = refused("--data", str(tmp_path), "--port", "81")
    assert code == 1
    assert "ports below 1024 need root" in line


def test_a_directory_held_by_a_running_broker_is_refused(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0"):
        code, line = refused("--data", str(tmp_path), "--port", "0")
    assert code == 1
    assert "is held by another broker" in line


def test_a_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0", "--cluster-id", "4L6g3nShT-eMCtK--X86sw"):
        pass
    code, line = refused(
        "--data", str(tmp_path), "--port", "0", "--cluster-id", "5L6g3nShT-eMCtK--X86sw"
    )
    assert code == 1
    assert "belongs to cluster 4L6g3nShT-eMCtK--X86sw, not to 5L6g3nShT-eMCtK--X86sw" in line


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--port", "0"):
        pass
    code, line = refused("--data", str(tmp_path), "--port", "0", "--override", "node.id=2")
    assert code == 1
    assert "belongs to node 1, this is node 2" in line


def test_a_directory_with_other_things_is_not_formatted(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    code, line = refused("--data", str(tmp_path), "--port", "0")
    assert code == 1
    assert "holds other things (thesis.tex)" in line
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("meta.properties", "version=1\n"), ("__cluster_metadata-0/quorum-state", "{")],
)
def test_a_damaged_file_is_refused_and_never_read_as_empty(
    tmp_path: Path, name: str, content: str
) -> None:
    with running("--data", str(tmp_path), "--port", "0"):
        pass
    (tmp_path / name).write_text(content)
    code, line = refused("--data", str(tmp_path), "--port", "0")
    assert code == 1
    assert "damaged" in line


def test_an_unknown_setting_is_said() -> None:
    code, line = refused("--ephemeral", "--override", "num.partition=3")
    assert code == 2
    assert "unknown setting num.partition: did you mean num.partitions?" in line


@pytest.mark.parametrize("arguments", [["--help"], ["server", "--help"], ["config", "--help"]])
def test_help_is_quick(arguments: list[str]) -> None:
    """The bar is 150 ms on a quiet machine; the best of three, of the processor's time, which others use up too."""
    times = []
    for _ in range(3):
        start = children_cpu_s()
        subprocess.run(
            [sys.executable, "-m", "millstream.cli.main", *arguments],
            check=True,
            capture_output=True,
        )
        times.append(children_cpu_s() - start)
    assert min(times) < 0.4


def children_cpu_s() -> float:
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    ("name", "voters"), [("both", "node 1, node 2"), ("other", "node 2")], ids=["both", "other"]
)
def test_a_directory_that_kafka_formatted_for_other_voters_is_refused(
    tmp_path: Path, name: str, voters: str
) -> None:
    """It would elect itself beside the voters that it was formatted for."""
    with tarfile.open(VOTERS) as archive:
        archive.extractall(tmp_path, filter="data")
    code, sentence = refused("--data", str(tmp_path / name), "--port", "0")
    assert code == 1
    assert f"belongs to a metadata quorum whose voters are {voters}; this is node 1" in sentence


def test_a_directory_that_kafka_formatted_for_this_node_alone_is_served(tmp_path: Path) -> None:
    with tarfile.open(VOTERS) as archive:
        archive.extractall(tmp_path, filter="data")
    with running("--data", str(tmp_path / "standalone"), "--port", "0") as (_, ready):
        assert ready["cluster"] == "AAAAAAAAAAAAAAAAAAAAAw"
    with running("--data", str(tmp_path / "standalone"), "--port", "0") as (_, ready):
        assert ready["node"] == "1"
