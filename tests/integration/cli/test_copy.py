"""`millstream copy`: what arrives is what was there, once, from the ranges that were asked for."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from millstream.clients import NewTopic, blocking
from millstream.testing.broker import Broker
from tests.integration.cli.conftest import MILLSTREAM, Run
from tests.patience import LONG_ENOUGH_S, wait_until


def filled(bootstrap: str, topic: str) -> str:
    """Three partitions of ten records each, k0 to k29, the key deciding nothing."""
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 3, configs={"retention.ms": "-1"})]).raise_errors()
        wait_until(lambda: not admin.describe_topics([topic]).errors())
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(30):
            producer.send(
                topic,
                None if number == 7 else b"v%d" % number,
                key=None if number == 5 else b"k%d" % number,
                headers=[("h", b"\xff"), ("h", None)] if number == 3 else [],
                partition=number % 3,
                timestamp_ms=1_000_000 + number,
            )
    return topic


@pytest.fixture
def source(topic: str, bootstrap: str) -> str:
    return filled(bootstrap, topic)


@pytest.fixture(scope="module")
def kept(bootstrap: str) -> str:
    """A source for tests that leave it as it is."""
    return filled(bootstrap, f"kept-{time.time_ns()}")


@pytest.fixture(scope="module")
def one(bootstrap: str, kept: str) -> str:
    """A target of one partition."""
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(f"{kept}-one", 1)]).raise_errors()
        wait_until(lambda: not admin.describe_topics([f"{kept}-one"]).errors())
    return f"{kept}-one"


def envelopes(run: Run, topic: str) -> list[dict[str, object]]:
    done = run("consume", topic, "-o", "beginning", "-e", "-J", "-q", "-X", "isolation.level=read_committed")  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        line["topic"] = ""
    return sorted(lines, key=lambda each: (each["partition"], each["offset"]))


def values(run: Run, topic: str) -> list[str]:
    done = run("consume", topic, "-o", "beginning", "-e", "-q", "-X", "isolation.level=read_committed")  # fmt: skip
    return sorted(done.stdout.splitlines())


def test_everything_of_a_record_arrives_in_its_partition(run: Run, source: str) -> None:
    done = run("copy", source, f"{source}-copy", "--create", "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        {"partition": number, "from": 0, "next": 10, "records": 10} for number in range(3)
    ]
    assert done.stderr.splitlines()[-1] == f"30 records copied to {source}-copy"
    copied = envelopes(run, f"{source}-copy")
    assert copied == envelopes(run, source)
    assert copied[1]["headers"] != []
    assert len(copied) == 30
    described = run("topics", "describe", f"{source}-copy").stdout
    assert "3 partitions  retention.ms=-1" in described


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (("-o", "2:4"), [*range(6, 12)]),
        (("-o", "8"), [*range(24, 30)]),
        (("-o", "-1"), [27, 28, 29]),
        (("-o", ":1"), [0, 1, 2]),
        (("-o", "@1000027"), [27, 28, 29]),
        (("-o", "e@1000002"), [0, 1]),
        (("-p", "1", "-c", "4"), [1, 4, 7, 10]),
        (("-p", "0,2", "-o", "9"), [27, 29]),
        (("-c", "0"), []),
    ],
)
def test_a_range_by_offset_time_or_count(
    run: Run, kept: str, topic: str, *, arguments: tuple[str, ...], numbers: list[int]
) -> None:
    tried = run("copy", kept, topic, "--create", *arguments, "--dry-run", "--output", "json")  # fmt: skip
    if "-c" not in arguments:
        assert sum(row["offsets"] for row in json.loads(tried.stdout)) == len(numbers)
    assert run("topics", "describe", topic).returncode == 3  # nothing was made
    run("copy", kept, topic, "--create", *arguments)
    expected = sorted("" if number == 7 else f"v{number}" for number in numbers)
    assert values(run, topic) == expected


def test_keys_decide_where_they_are_asked_to(run: Run, source: str, bootstrap: str) -> None:
    run("topics", "create", f"{source}-copy", "--partitions", "5")
    run("copy", source, f"{source}-copy", "--repartition")
    run("topics", "create", f"{source}-sent", "--partitions", "5")
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(30):
            producer.send(f"{source}-sent", b"", key=b"k%d" % number)

    def places(topic: str) -> dict[object, object]:
        return {each["key"]: each["partition"] for each in envelopes(run, topic) if each["key"] is not None}  # fmt: skip

    assert places(f"{source}-copy").items() <= places(f"{source}-sent").items()


@pytest.mark.parametrize("how", [(), ("--exactly-once",)])
def test_a_bookmark_has_the_next_copy_go_on(run: Run, source: str, how: tuple[str, ...]) -> None:
    arguments = ("copy", source, f"{source}-copy", "--bookmark", f"b-{source}", *how)
    first = run(*arguments, "--create", "-c", "13")
    assert "13 records copied" in first.stderr
    one = run(*arguments, "-p", "2", "-c", "1")
    assert "1 record copied" in one.stderr
    planned = json.loads(run(*arguments, "--dry-run", "--output", "json").stdout)
    assert sum(row["offsets"] for row in planned) == 16
    assert "16 records copied" in run(*arguments).stderr
    assert "0 records copied" in run(*arguments).stderr
    run("produce", source, given="late\n")
    assert "1 record copied" in run(*arguments).stderr
    expected = sorted(["late", *("" if each == 7 else f"v{each}" for each in range(30))])
    assert values(run, f"{source}-copy") == expected


def test_a_bookmark_of_other_topics_is_refused(run: Run, source: str) -> None:
    mark = ("--bookmark", f"b-{source}")
    run("copy", source, f"{source}-copy", "--create", *mark)
    run("copy", source, f"{source}-2", "--create")
    other = run("copy", f"{source}-2", f"{source}-copy", *mark)
    assert (other.returncode, "choose another name, or forget it" in other.stderr) == (2, True)
    run("topics", "delete", f"{source}-copy", "--yes")
    wait_until(lambda: run("topics", "describe", f"{source}-copy").returncode == 3)
    again = run("copy", source, f"{source}-copy", "--create", *mark)
    # A broker forgets offsets of a topic that is deleted; where it did not yet, the copy is refused.
    assert again.returncode == 2 or "30 records copied" in again.stderr


def test_what_was_aborted_is_left_out(run: Run, topic: str, bootstrap: str) -> None:
    with blocking.Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for value, commits in ((b"one", True), (b"two", False), (b"three", True)):
            producer.begin_transaction()
            producer.send(topic, value)
            if commits:
                producer.commit_transaction()
            else:
                producer.flush()
                producer.abort_transaction()
    done = run("copy", topic, f"{topic}-copy", "--create")
    assert "2 records copied" in done.stderr
    assert values(run, f"{topic}-copy") == ["one", "three"]
    run("copy", topic, f"{topic}-all", "--create", "--isolation-level", "read_uncommitted")
    assert values(run, f"{topic}-all") == ["one", "three", "two"]


def test_records_that_are_gone_are_told(run: Run, source: str) -> None:
    mark = ("--bookmark", f"b-{source}")
    run("copy", source, f"{source}-copy", "--create", "-o", ":2", *mark)
    run("records", "delete", source, "--before", "5", "--yes")
    done = run("copy", source, f"{source}-copy", *mark)
    assert f"warning: {source}-0 begins at 5: what lay at 2 to 4 is gone, and is not copied" in done.stderr  # fmt: skip
    assert "15 records copied" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("{kept}", "{kept}"), 2, "would be copied to itself"),
        (("{kept}", "{kept}-none"), 3, "(--create makes it as the source is)"),
        (("{kept}x", "a"), 3, "did you mean {kept}?"),
        (("{kept}", "a", "--exactly-once"), 2, "--exactly-once needs --bookmark NAME"),
        (("{kept}", "a", "-o", "stored"), 2, "-o stored is --bookmark NAME here"),
        (("{kept}", "a", "--follow", "-o", "2:4"), 2, "--follow has no end"),
        (("{kept}", "a", "-o", "2:4", "-o", "e@5"), 2, "the end is given twice"),
        (("{kept}", "{one}"), 2, "has 1 partitions and {kept} has 3: --repartition"),
        (("{kept}", "{one}", "--repartition", "-p", "3"), 2, "has no partition 3: it has 3"),
        (("{kept}", "a", "-X", "linger=5"), 2, "linger"),
        (("{kept}", "a", "--to-profile", "nobody"), 2, "there is no profile nobody"),
        (("{kept}", "a", "--to-config", "{file}"), 2, "say where the target's cluster is"),
    ],
)  # fmt: skip
def test_mistakes_are_named(
    run: Run,
    kept: str,
    one: str,
    tmp_path: Path,
    *,
    arguments: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    (tmp_path / "client.properties").write_text("client.id=me\n")
    names = {"kept": kept, "one": one, "file": str(tmp_path / "client.properties")}
    done = run("copy", *(each.format(**names) for each in arguments))
    assert (done.returncode, says.format(**names) in done.stderr) == (code, True), done.stderr


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    with Broker(in_process=False) as broker:
        yield broker.bootstrap_servers


def test_another_cluster_has_its_own_address_and_settings(
    run: Run, source: str, other: str, tmp_path: Path
) -> None:
    file = tmp_path / "target.properties"
    file.write_text(f"bootstrap.servers={other}\nlinger.ms=1\n")
    to = ("--to-config", str(file), "--create", "--bookmark", source, "--exactly-once")
    assert "30 records copied" in run("copy", source, source, *to).stderr
    assert envelopes(run, source) == envelopes(partial(run, "-b", other), source)
    wrong = run("copy", source, source, "--to-bootstrap", other, "--to-property", "lingr.ms=1")
    assert (wrong.returncode, "did you mean" in wrong.stderr) == (2, True)
    assert run("groups", "describe", source).returncode == 3  # the source was only read


def noted(admin: blocking.Admin, group: str) -> int:
    listed = admin.list_consumer_group_offsets([group])
    if listed.errors():
        return 0  # there is no such group yet
    found = listed.result(group)
    return sum(found.result(each).offset for each in found)


def test_a_copy_that_follows_says_how_far_it_came(run: Run, source: str, bootstrap: str) -> None:
    """What it has written before it is asked to end is kept, and told."""
    arguments = ("copy", source, f"{source}-copy", "--create", "--follow", "--bookmark", source, "-b", bootstrap)  # fmt: skip
    with subprocess.Popen(
        [*MILLSTREAM, *arguments, "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as verb:  # fmt: skip
        with blocking.Admin(bootstrap_servers=bootstrap) as admin:
            wait_until(lambda: noted(admin, source) == 30)
            run("produce", source, given="late\n")
            wait_until(lambda: noted(admin, source) == 31)  # by now it knows of the first 30
        verb.send_signal(signal.SIGINT)
        out, told = verb.communicate(timeout=LONG_ENOUGH_S)
    assert verb.returncode == 130, told
    count = sum(row["records"] for row in json.loads(out))
    assert count in {30, 31}
    assert told.splitlines()[-1].startswith(f"{count} records copied to {source}-copy")


def test_a_copy_that_is_killed_again_and_again_is_exact(
    run: Run, topic: str, bootstrap: str
) -> None:
    """Each is killed once it has committed something; the next goes on behind the last transaction."""
    run("topics", "create", topic, "--partitions", "2")
    run("topics", "create", f"{topic}-copy", "--partitions", "2")
    count = 20_000
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)
    # Small fetches, so that there is something to interrupt.
    arguments = ("copy", topic, f"{topic}-copy", "--bookmark", topic, "--exactly-once", "-b", bootstrap,
                 "-X", "max.partition.fetch.bytes=2000")  # fmt: skip
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        for _ in range(2):
            before = noted(admin, topic)
            with subprocess.Popen([*MILLSTREAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as verb:  # fmt: skip
                wait_until(lambda at=before: noted(admin, topic) > at or verb.poll() is not None)
                verb.kill()
    assert run(*arguments).returncode == 0
    assert sorted(map(int, values(run, f"{topic}-copy"))) == list(range(count))
