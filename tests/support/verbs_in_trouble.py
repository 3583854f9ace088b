"""Every verb at a cluster that is dead, silent, paused in part, or refuses the login: how long until it says so, and what.

    python -m tests.support.verbs_in_trouble [SITUATION]... [--only WORD]

A situation is one of SITUATIONS, `kafka` with MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT. A row that is no answer (a traceback,
no sentence, more than its time) ends with `<--`, and the exit code is then 1. Takes five minutes: most of them a paused
node's.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from millstream.cli.main import VERBS as GROUPS
from millstream.cli.main import main
from millstream.testing.broker import Broker
from millstream.testing.cluster import Cluster

VERBS: Final = (
    "acls list",
    "acls add --allow-principal User:ann --operation read --topic trouble",
    "acls remove --principal User:ann --operation read --topic trouble --yes",
    "acls explain ann read topic:trouble",
    "cluster brokers",
    "cluster brokers api-versions",
    "cluster elect-leaders preferred --all",
    "cluster features",
    "cluster log-dirs",
    "cluster quorum",
    "cluster reassign list",
    "cluster reassign plan --all --broker-list 1",
    "cluster reassign execute {plan}",
    "cluster reassign verify {plan}",
    "cluster reassign cancel {plan} --yes",
    "cluster status",
    "configs list",
    "configs get topic:trouble",
    "configs get broker:1",
    "configs set topic:trouble retention.ms=86400000",
    "configs explain topic:trouble retention.ms",
    "configs unset topic:trouble retention.ms",
    "consume trouble -o beginning -e -c 1",
    "consume trouble -G trouble -e -o beginning",
    "copy trouble trouble-2 --create",
    "groups list",
    "groups describe trouble",
    "groups describe --all-groups",
    "groups reset-offsets trouble --topic trouble --to-earliest --execute",
    "groups delete-offsets trouble --topic trouble --yes",
    "groups delete trouble --yes",
    "offsets trouble --sizes",
    "perf produce trouble --num-records 10 --record-size 10",
    "perf consume trouble --messages 1",
    "perf latency trouble -n 3",
    "pipeline status trouble",
    "pipeline queries trouble",
    "pipeline reset trouble --yes",
    "produce trouble {records}",
    "quotas list",
    "quotas set --client-id trouble producer_byte_rate=1048576",
    "quotas remove --client-id trouble",
    "records delete trouble --before 1 --yes",
    "streams reset trouble --yes",
    "tail trouble -n 1",
    "tokens list",
    "top -n 1",
    "topics list",
    "topics describe trouble",
    "topics create trouble-3 --if-not-exists",
    "topics alter trouble-3 --partitions 5",
    "topics delete trouble-3 --yes",
    "transactions list",
    "transactions describe trouble",
    "transactions producers trouble",
    "transactions find-hanging",
    "transactions abort-hanging trouble --yes",
    "transactions abort trouble --yes",
    "users list",
    "users add trouble --password-file {password}",
    "users password trouble --password-file {password}",
    "users remove trouble --yes",
)
_AT_ONCE: Final = 8
"""Processes beside one another: they mostly wait."""
_LIMIT_S: Final = 60.0
_NUMBERS: Final = itertools.count()
_ENDED: Final = "(does not end)"


class Situation(NamedTuple):
    """`codes`: those that are an answer there; `within_s`: how long that may take."""

    codes: frozenset[int]
    within_s: float


ANSWERED: Final = frozenset({0, 1, 2, 3})
"""What each verb says of a cluster that has nothing, or too little, of what it names."""
SITUATIONS: Final = {
    "dead": Situation(frozenset({5}), 25),
    "silent": Situation(frozenset({5}), 25),
    "wrong-password": Situation(frozenset({4}), 25),
    "one-of-three-dead": Situation(ANSWERED | {5}, 40),
    "one-of-three-paused": Situation(ANSWERED | {5}, 40),
    "healthy": Situation(ANSWERED, 25),
    "kafka": Situation(ANSWERED, 25),
}


class Row(NamedTuple):
    """What a verb did."""

    verb: str
    seconds: float
    code: int | None
    said: str

    def is_answer(self, expected: Situation) -> bool:
        return (
            self.code in expected.codes
            and self.seconds <= expected.within_s
            and "Traceback" not in self.said
            and bool(self.said or not self.code)
        )


def asked(verb: str, cluster: Sequence[str], files: dict[str, Path]) -> Row:
    """Runs a verb as a person would, without a terminal; in a process that has imported what it needs."""
    words = shlex.split(verb.format(**files))
    told = files["told"] / str(next(_NUMBERS))
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _become([*words, *cluster], told)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > _LIMIT_S:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Row(verb, time.monotonic() - began, None, _ENDED)
        time.sleep(0.02)
    lines = told.read_text(encoding="utf-8").strip().splitlines()
    said = "Traceback" if any("Traceback" in line for line in lines) else lines[-1] if lines else ""
    return Row(verb, time.monotonic() - began, os.waitstatus_to_exitcode(ended[1]), said)


def _become(arguments: list[str], told: Path) -> NoReturn:
    """Is the process of a verb, to its end."""
    for number, file in ((0, os.devnull), (1, os.devnull), (2, str(told))):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    code = 70
    try:
        main.main(arguments, prog_name="millstream")
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException:  # noqa: BLE001 - it is told, as the interpreter would
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code)


@contextmanager
def refusing() -> Iterator[list[str]]:
    """A port that is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield ["-b", f"127.0.0.1:{taken.getsockname()[1]}"]


@contextmanager
def silent() -> Iterator[list[str]]:
    """Connections are taken by the kernel, and nobody answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as server:
        yield ["-b", f"127.0.0.1:{server.getsockname()[1]}"]


@contextmanager
def wrong_password(folder: Path) -> Iterator[list[str]]:
    with Broker(secure=True, in_process=False) as broker:
        text = broker.client_properties.read_text(encoding="utf-8")
        lines = [line.replace('password="', 'password="x') for line in text.splitlines()]
        assert lines != text.splitlines(), "there was no password to spoil"
        file = folder / "wrong.properties"
        file.write_text("\n".join(lines), encoding="utf-8")
        yield ["--command-config", str(file), "-b", broker.bootstrap_servers]


@contextmanager
def three_nodes(trouble: str) -> Iterator[list[str]]:
    """The node in trouble is not the first that is named."""
    with Cluster(nodes=3) as cluster:
        at = ["-b", cluster.bootstrap_servers]
        for words in (
            ["topics", "create", "trouble", "--partitions", "3", "--replication-factor", "3"],
            ["consume", "trouble", "-G", "trouble", "-e", "-o", "beginning", "-q"],
        ):
            subprocess.run([sys.executable, "-m", "millstream.cli.main", *words, *at], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        if trouble == "dead":
            cluster.kill(cluster.node_ids[1])
        if trouble == "paused":
            cluster.pause(cluster.node_ids[1])
        yield at
        if trouble == "paused":
            cluster.resume(cluster.node_ids[1])


@contextmanager
def apache() -> Iterator[list[str]]:
    yield ["-b", os.environ["MILLSTREAM_KAFKA_BOOTSTRAP"]]


def situated(name: str, folder: Path) -> AbstractContextManager[list[str]]:
    """Returns what gives the options that name the cluster."""
    match name:
        case "dead":
            return refusing()
        case "silent":
            return silent()
        case "wrong-password":
            return wrong_password(folder)
        case "kafka":
            return apache()
        case _:
            return three_nodes(name.removeprefix("one-of-three-"))


def prepared(folder: Path) -> dict[str, Path]:
    """Writes what verbs read, and imports what they are, once for all."""
    texts = {
        "plan": '{"version":1,"partitions":[{"topic":"trouble","partition":0,"replicas":[1]}]}',
        "records": "one\n",
        "password": "secret-enough\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "told").mkdir()
    for module in (*(each.module for each in GROUPS.values()), "millstream.clients.blocking"):
        import_module(module)
    return {name: folder / name for name in (*texts, "told")}


def run(arguments: list[str]) -> int:
    """Prints the table; returns how many rows are no answers, as an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("situations", nargs="*", choices=[*SITUATIONS, []])
    parser.add_argument("--only", default="", help="verbs with this in them")
    given = parser.parse_args(arguments)
    verbs = [verb for verb in VERBS if given.only in verb]
    bad = 0
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(_AT_ONCE) as pool:
        files = prepared(Path(made))
        for name in given.situations or [each for each in SITUATIONS if each != "kafka"]:
            print(f"\n{name}")
            with situated(name, Path(made)) as at:
                for row in pool.map(partial(asked, cluster=at, files=files), verbs):
                    mark = "" if row.is_answer(SITUATIONS[name]) else "  <--"
                    bad += bool(mark)
                    print(f"{row.seconds:6.1f} s {row.code!s:>4}  {row.verb[:44]:44}  {row.said[:200]}{mark}", flush=True)  # fmt: skip
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
