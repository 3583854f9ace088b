"""The jobs of docs/guide/cli.md, each command as a process of its own, on three secured nodes: time of each job.

The rows are read from the guide. A job that fails is named with what it said; the exit code is then 1.

    python -m benchmarks.jobs [--config client.properties]

With `--config` the cluster is the one of that file, whose user may do everything; else one is started.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from millstream.clients import NewTopic, OffsetAndMetadata, TopicPartition
from millstream.clients.blocking import Admin, Producer
from millstream.clients.properties_file import read_client_properties
from millstream.testing.broker import Broker
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry

ROOT: Final = Path(__file__).resolve().parent.parent
FIXTURE: Final = ROOT / "tests/fixtures/kafka-4.3.1-data.tar.gz"
GUIDE: Final = (ROOT / "docs/guide/cli.md").read_text().partition("\n## Jobs\n")[2]
_VERB: Final = (sys.executable, "-m", "millstream.cli.main")
_ROW: Final = re.compile(r"^\| ([^|]+?) \| (`millstream .*) \|$", re.MULTILINE)
_COMMAND: Final = re.compile(r"`(millstream [^`]*)`")
_WORD: Final = re.compile(r"[A-Z]{2,}")
_SAY_NO: Final = {"find a record that cannot be read": (1, 0)}
"""Exit codes that are not 0, of the commands of a job in turn."""
_DAY_MS: Final = 24 * 3_600_000


class Done(NamedTuple):
    job: str
    times_s: list[float]
    cpu_s: float
    complaint: str


@dataclass(frozen=True, slots=True)
class World:
    """A topic, a group that lags, files; `words` are those that the guide has in capitals."""

    environment: Mapping[str, str]
    words: Mapping[str, str]

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*_VERB, *arguments], env=self.environment, capture_output=True, text=True, check=False,
            errors="surrogateescape",  # one record is no text
        )  # fmt: skip

    def do(self, job: str, commands: list[str]) -> Done:
        times_s, complaint = [], ""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        codes = _SAY_NO.get(job, (0,) * len(commands))
        for command, code in zip(commands, codes, strict=True):
            line, _, file = command.partition(" > ")
            words = [self._filled(word) for word in shlex.split(line)[1:]]
            begin = time.perf_counter()
            done = self.run(words)
            times_s.append(time.perf_counter() - begin)
            if done.returncode != code:
                complaint = (
                    complaint or f"{shlex.join(words)}: {done.returncode}: {done.stderr.strip()}"
                )
            if file:
                Path(self._filled(file)).write_text(done.stdout, errors="surrogateescape")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Done(job, times_s, cpu_s, complaint)

    def _filled(self, word: str) -> str:
        return _WORD.sub(lambda found: self.words.get(found[0], found[0]), word)


@contextmanager
def started_cluster(directory: Path) -> Iterator[Path]:
    """Yields the file of a client of three secured nodes."""
    command = [
        *_VERB,
        "cluster",
        "--secure",
        "--nodes",
        "3",
        "--port",
        "0",
        "--data",
        str(directory),
    ]
    with (
        (directory.parent / "cluster.log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as nodes,
    ):
        assert nodes.stdout is not None
        try:
            ready = nodes.stdout.readline()
            assert ready.startswith("millstream ready"), (
                directory.parent / "cluster.log"
            ).read_text()
            yield directory / "client.properties"
        finally:
            nodes.terminate()


def prepare(config: Path, directory: Path, registry: str, elsewhere: str) -> World:
    environment = os.environ | {
        "XDG_CONFIG_HOME": str(directory),
        "MILLSTREAM_PROFILE": "jobs",
        "MILLSTREAM_SCHEMA_REGISTRY": registry,
    }
    subprocess.run([*_VERB, "profile", "add", "jobs", "--config", str(config)], env=environment, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    settings: dict[str, Any] = read_client_properties(config, Admin)
    now_ms = time.time_ns() // 1_000_000
    with (
        Admin(**settings) as admin,
        Producer(**read_client_properties(config, Producer)) as producer,
    ):
        names = [each for each in admin.list_topics() if each.startswith("orders")]
        admin.delete_topics(names).raise_errors()  # of a run before
        admin.create_topics([NewTopic("orders", 2, 3), NewTopic("orders-2", 2, 3)]).raise_errors()
        for number in range(10_000):
            value = b"\xffpoison" if number == 1 else b'{"minutes":%d}' % number
            age_ms = 2 * _DAY_MS if number == 0 else 0
            producer.send("orders", value, key=b"k%d" % number, partition=number % 2 if number > 2 else 0, timestamp_ms=now_ms - age_ms)  # fmt: skip
        producer.flush()
        committed = {TopicPartition("orders", 0): OffsetAndMetadata(1)}
        for group in ("readers", "left"):
            admin.alter_consumer_group_offsets(group, committed).raise_errors()
    (directory / "record").write_text("by hand\n")
    (directory / "order.avsc").write_text('{"type":"string"}')
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(directory, filter="data")
    return World(
        environment,
        {
            "TOPIC": "orders", "OTHER": "orders-2", "GROUP": "readers", "OFFSET": "1", "KEY": "k", "NAME": "move",
            "FILE": str(directory / "record"), "ADDRESS": elsewhere, "TIME": str(now_ms - _DAY_MS), "USER": "service", "IDS": "1,2,3",
            "CLIENT": "service", "LOGGER": "millstream.broker", "DIRECTORY": str(directory / "data"),
        },
    )  # fmt: skip


def special_words(job: str, directory: Path) -> dict[str, str]:
    """Words that mean something else in one job than in the others."""
    files = {
        "keep records in a file, and write them again": "records.jsonl",
        "move replicas away from a broker; IDS are those of the others, as 1,2": "moves.json",
        "would the registry take a schema": "order.avsc",
        "what stands in a log that was damaged, and up to where": f"data/codecs-0/{0:020}.log",
    }
    words = {"FILE": str(directory / files[job])} if job in files else {}
    if job == "clear away a group that nobody uses":
        words["GROUP"] = "left"
    if job == "copy a topic to try something":
        words["OTHER"] = "orders-3"
    if job == "a producer died within a transaction":
        words["NAME"] = "dead"
    return words


def die_within_a_transaction(config: Path) -> None:
    code = (
        "import os, sys; from millstream.clients.blocking import Producer; from millstream.clients.properties_file import read_client_properties\n"
        "p = Producer(transactional_id='dead', **read_client_properties(sys.argv[1], Producer))\n"
        "p.init_transactions(); p.begin_transaction(); p.send('orders-2', b'x').result(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(config)], check=True)


def measure(config: Path, directory: Path) -> list[Done]:
    found = []
    with FakeSchemaRegistry() as registry, Broker(in_process=False) as other:
        registry.contents.answer("POST", "/subjects/orders-value/versions", {"schema": '"long"'})
        # A profile has a login, which the copy's target does not want: its own settings are none.
        world = prepare(config, directory, registry.url, other.bootstrap_servers)
        world.run(
            ["topics", "list"]
        )  # bytecode and the files of the interpreter are there from now on
        for job, row in _ROW.findall(GUIDE):
            if job == "a producer died within a transaction":
                die_within_a_transaction(config)
            words = {**world.words, **special_words(job, directory)}
            done = World(world.environment, words).do(job, _COMMAND.findall(row))
            print(
                f"| {job} | {len(done.times_s)} | {sum(done.times_s):.1f} | {done.cpu_s:.1f} |",
                flush=True,
            )
            if done.complaint:
                print(f"  ! {done.complaint}", file=sys.stderr, flush=True)
            found.append(done)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    parser.add_argument("--json", type=Path, help="write all times here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        print("| job | commands | seconds | of the processor |\n|---|---|---|---|")
        if options.config is None:
            with started_cluster(directory / "nodes") as config:
                found = measure(config, directory)
        else:
            found = measure(options.config, directory)
    times_s = sorted(sum(each.times_s) for each in found)
    print(f"{len(found)} jobs, {sum(len(each.times_s) for each in found)} commands: {sum(times_s):.0f} s, median {times_s[len(times_s) // 2]:.1f} s, slowest {times_s[-1]:.1f} s")  # fmt: skip
    if options.json is not None:
        options.json.write_text(json.dumps([each._asdict() for each in found], indent=1))
    return int(any(each.complaint for each in found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
