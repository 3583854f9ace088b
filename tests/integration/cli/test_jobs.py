"""The jobs of docs/guide/cli.md, as a person does them: each row of the table is run here, as it stands there.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same rows are run against an Apache Kafka, whose authorizer must be on and
have User:ANONYMOUS as a super user.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.clients import OffsetAndMetadata, blocking
from millstream.model import TopicPartition
from millstream.testing.broker import Broker
from tests.integration.cli.conftest import Done, Run, eventually
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.support.clients.hanging_transaction import leave_hanging

ROOT = Path(__file__).resolve().parents[3]
JOBS = {
    job: re.findall(r"`(millstream [^`]*)`", commands)
    for job, commands in re.findall(
        r"^\| ([^|]+?) \| (`millstream .*) \|$",
        (ROOT / "docs/guide/cli.md").read_text().partition("\n## Jobs\n")[2],
        re.MULTILINE,
    )
}
FIXTURE = ROOT / "tests/fixtures/kafka-4.3.1-data.tar.gz"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

Job = Callable[..., list[Done]]
"""Runs the commands of a row, with words in capitals filled in; they exit with the `codes`."""


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "transaction.partition.verification.enable": "false",
    }
    with Broker(in_process=False, settings=settings) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def job(run: Run) -> Job:
    def done(name: str, *, codes: tuple[int, ...] = (0, 0, 0), **words: object) -> list[Done]:
        found: list[Done] = []
        for command, code in zip(JOBS[name], codes, strict=False):
            line, _, file = command.partition(" > ")
            arguments = [
                re.sub(r"[A-Z]+", lambda each: str(words.get(each[0], each[0])), part)
                for part in shlex.split(line)[1:]
            ]
            found.append(run(*arguments))
            assert found[-1].returncode == code, (command, found[-1])
            if file:
                Path(str(words[file])).write_text(found[-1].stdout)
        return found

    return done


@pytest.fixture
def orders(run: Run, topic: str, bootstrap: str) -> str:
    """A topic with two partitions: in the first, values that are JSON at 0, 2 and 3, and not at 1; k3 is a day old."""
    run("topics", "create", topic, "--partitions", "2")
    eventually(lambda: run("topics", "describe", topic), lambda done: not done.returncode)
    now_ms = time.time_ns() // 1_000_000
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for number, value in enumerate((b'{"minutes":1}', b"\xffpoison", b'{"minutes":3}')):
            producer.send(
                topic,
                value,
                key=b"k%d" % number,
                partition=0,
                timestamp_ms=now_ms - (2 * DAY_MS if number == 0 else 0),
            )
        producer.send(topic, b'{"minutes":4}', key=b"k3", partition=1)
    return topic


@pytest.fixture
def group(orders: str, bootstrap: str) -> str:
    """A group that has read one of the three records of the first partition."""
    name = f"readers-of-{orders}"
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        committed = {TopicPartition(orders, 0): OffsetAndMetadata(1)}
        admin.alter_consumer_group_offsets(name, committed).raise_errors()
    return name


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of Kafka 4.3.1."""
    folder = tmp_path_factory.mktemp("kafka")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "data"


def test_the_page_has_thirty_jobs_of_three_commands_at_most_and_each_is_run_here() -> None:
    assert len(JOBS) >= 30
    assert [job for job, commands in JOBS.items() if not 0 < len(commands) <= 3] == []
    run_here = set(re.findall(r'job\(\s*"([^"]+)"', Path(__file__).read_text()))
    assert run_here == set(JOBS)


# ---- groups


def test_which_group_lags(job: Job, group: str, orders: str) -> None:
    (done,) = job("which group lags, and in which partition")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{group} ")]
    assert line.split()[1:6] == [orders, "0", "1", "3", "2"]


def test_what_is_going_on(job: Job, group: str) -> None:
    (done,) = job("what is going on now, and who is slow")
    assert group in done.stdout


def committed(run: Run, group: str) -> object:
    done = run("groups", "describe", group, "--output", "jsonl")
    return [
        json.loads(line)["current_offset"]
        for line in done.stdout.splitlines()
        if json.loads(line)["partition"] == 0
    ]


def test_a_group_goes_back_an_hour(job: Job, run: Run, group: str) -> None:
    """The record of two days ago lies before that."""
    run("groups", "reset-offsets", group, "--all-topics", "--to-latest", "--execute")
    job("move a group back an hour", GROUP=group)
    assert committed(run, group) == [1]


def test_a_group_skips_a_record(job: Job, run: Run, group: str, orders: str) -> None:
    job("have a group skip one record", GROUP=group, TOPIC=orders)
    assert committed(run, group) == [2]


def test_a_group_is_cleared_away(job: Job, run: Run, group: str) -> None:
    job("clear away a group that nobody uses", GROUP=group)
    assert group not in run("groups", "list").stdout


# ---- records


def test_what_came_lately(job: Job, orders: str) -> None:
    (done,) = job("read what came in the last ten minutes", TOPIC=orders)
    assert len(done.stdout.splitlines()) == 3
    (last,) = job("what came last", TOPIC=orders)
    assert [line.split()[2] for line in last.stdout.splitlines()[1:]] != []
    (newest,) = job("when did the newest record come", TOPIC=orders)
    assert len(newest.stdout.splitlines()) == 3


def test_the_poison_record_is_found(job: Job, orders: str) -> None:
    found, seen = job("find a record that cannot be read", codes=(1, 0), TOPIC=orders, OFFSET=1)
    assert f"{orders}-0 offset 1: " in found.stderr
    assert seen.stdout == "ff706f69736f6e\n"


def test_records_of_a_key(job: Job, orders: str) -> None:
    (done,) = job("find the records of a key", TOPIC=orders)
    (line,) = [line for line in done.stdout.splitlines() if " k3 " in line]
    assert line.split()[:2] == ["1", "0"]


def test_one_record_is_written(job: Job, run: Run, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "record"
    file.write_text("by hand\n")
    job("write one record by hand", TOPIC=topic, KEY="k", FILE=file)
    (line,) = run("consume", topic, "-o", "beginning", "-e", "-J").stdout.splitlines()
    record = json.loads(line)
    assert (record["key"], record["value"], record["headers"]) == ("k", "by hand", [["source", "me"]])  # fmt: skip


def test_records_are_kept_in_a_file_and_written_again(
    job: Job, run: Run, orders: str, tmp_path: Path
) -> None:
    run("topics", "create", f"{orders}-2", "--partitions", "2")
    job("keep records in a file, and write them again", TOPIC=orders, OTHER=f"{orders}-2", FILE=tmp_path / "f")  # fmt: skip
    form = ("-o", "beginning", "-e", "-f", "%p %o %T %k %s\n")
    assert sorted(run("consume", f"{orders}-2", *form).stdout.splitlines()) == sorted(run("consume", orders, *form).stdout.splitlines())  # fmt: skip


def test_a_topic_is_copied(job: Job, orders: str, bootstrap: str) -> None:
    (done,) = job("copy a topic to try something", TOPIC=orders, OTHER=f"{orders}-2")
    assert "4 records copied" in done.stderr


def test_a_topic_moves_to_another_cluster(job: Job, orders: str) -> None:
    with Broker(in_process=False) as other:
        words = {"TOPIC": orders, "ADDRESS": other.bootstrap_servers, "NAME": "move"}
        for count in ("4 records", "0 records"):
            (done,) = job("move a topic to another cluster, exactly once", **words)
            assert f"{count} copied" in done.stderr


# ---- topics


def test_old_records_go(job: Job, run: Run, orders: str) -> None:
    job("delete what is older than a day", TOPIC=orders, TIME=time.time_ns() // 1_000_000 - DAY_MS)
    assert run("offsets", orders, "--output", "jsonl").stdout.count('"earliest":1') == 1


def test_retention_is_set_and_explained(job: Job, run: Run, orders: str) -> None:
    job("keep a topic for three days", TOPIC=orders)
    eventually(
        lambda: run("configs", "get", f"topic:{orders}"), lambda done: "259200000" in done.stdout
    )
    explained, sizes = job("why does this topic keep so much", TOPIC=orders)
    assert "259200000" in explained.stdout
    assert "BYTES" in sizes.stdout.splitlines()[0]


def test_a_topic_gets_partitions(job: Job, run: Run, orders: str) -> None:
    job("give a topic more partitions", TOPIC=orders)
    eventually(lambda: run("topics", "describe", orders), lambda done: "6 partitions" in done.stdout)  # fmt: skip


# ---- the cluster


@pytest.mark.usefixtures("orders")
def test_the_cluster_is_looked_at(job: Job) -> None:
    (settings,) = job("what is set on a broker, and where")
    assert "super.users" in settings.stdout
    (status,) = job("is the cluster well")
    assert "1" in status.stdout
    behind, _ = job("why is a partition under-replicated")
    assert behind.stdout == ""
    (quorum,) = job("who leads the controllers")
    assert "leader" in quorum.stdout.lower()
    (disks,) = job("how full are the disks")
    assert len(disks.stdout.splitlines()) > 1


def test_replicas_move(job: Job, orders: str, tmp_path: Path) -> None:
    words = {"IDS": 1, "FILE": tmp_path / "moves.json"}
    _, _, verified = job(
        "move replicas away from a broker; IDS are those of the others, as 1,2", **words
    )
    assert orders in verified.stdout
    (leaders,) = job("have preferred leaders lead again")
    assert leaders.returncode == 0


def test_a_logger_is_turned_up(job: Job, run: Run) -> None:
    kafka = "MILLSTREAM_KAFKA_BOOTSTRAP" in os.environ
    logger = "kafka.request.logger" if kafka else "millstream.broker"
    job("look closer at what a node does", LOGGER=logger)
    assert "DEBUG" in run("configs", "get", "logger:1", logger).stdout
    run("configs", "unset", "logger:1", logger)


# ---- transactions


def test_a_dead_producer_is_cleared_away(job: Job, topic: str, bootstrap: str) -> None:
    with blocking.Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x").result()
        listed, aborted = job("a producer died within a transaction", NAME=topic)
        assert topic in listed.stdout
        assert aborted.stdout.splitlines()[1].split() == [topic, "aborted"]


def test_what_hangs_is_ended(job: Job, run: Run, orders: str, bootstrap: str) -> None:
    run("configs", "set", "broker", "transaction.partition.verification.enable=false")
    leave_hanging(bootstrap, orders, f"{orders}-id", age_ms=HOUR_MS)
    found, ended = job("readers stand still at a transaction that nobody ends", TOPIC=orders)
    assert len(found.stdout.splitlines()) == 2
    assert ended.stdout.splitlines()[1].split()[-1] == "aborted"


# ---- who may what


def test_a_service_comes_and_its_password_is_rotated(job: Job, orders: str, topic: str) -> None:
    words = {"USER": f"u{topic}", "TOPIC": orders, "GROUP": "billing"}
    job("a service begins to read a topic", **words)
    (rotated,) = job("rotate a password", USER=f"u{topic}")
    assert rotated.stdout != ""
    rules, explained = job("who may read this topic", **words)
    assert f"User:u{topic}" in rules.stdout
    assert "ALLOWED" in explained.stdout.upper()


def test_a_client_is_held_back(job: Job, run: Run, topic: str) -> None:
    job("hold a client back to 1 MB/s", CLIENT=topic)
    assert "1048576" in run("quotas", "list", "--client-id", topic).stdout


# ---- schemas and files


def test_a_schema_is_checked_and_registered(
    job: Job, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "order.avsc"
    file.write_text('{"type":"string"}')
    with FakeSchemaRegistry() as registry:
        registry.contents.answer("POST", f"/subjects/{topic}-value/versions", {"schema": '"long"'})
        monkeypatch.setenv("MILLSTREAM_SCHEMA_REGISTRY", registry.url)
        _, registered = job("would the registry take a schema", TOPIC=topic, FILE=file)
    assert registered.stdout.splitlines()[1].split() == [f"{topic}-value", "2", "2", "registered"]


def test_files_of_a_stopped_node_are_read(job: Job, data: Path) -> None:
    (verified,) = job("may this data directory be trusted", DIRECTORY=data)
    assert "codecs-0" in verified.stdout
    file = data / "codecs-0" / f"{0:020}.log"
    (dumped,) = job("what stands in a log that was damaged, and up to where", FILE=file)
    assert "baseOffset: 0 " in dumped.stdout
