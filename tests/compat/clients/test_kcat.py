"""kcat (librdkafka 2.0, as Debian has it)."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

RECORDS = 10_000
pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(
        shutil.which("kcat") is None, reason="kcat is not installed (apt-get install kcat)"
    ),
]


def kcat(broker: Broker, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["kcat", "-b", broker.bootstrap_servers, *arguments],
        input=given, capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_ten_thousand_records_come_back_as_they_went(
    shared_broker: Broker, topic: str, codec: str
) -> None:
    lines = [f"key-{n}:value-{n}" for n in range(RECORDS)]
    kcat(shared_broker, "-P", "-t", topic, "-K", ":", "-z", codec, given="\n".join(lines) + "\n")
    back = kcat(shared_broker, "-C", "-t", topic, "-e", "-q", "-f", "%o %k:%s\n")
    assert back.splitlines() == [f"{n} {line}" for n, line in enumerate(lines)]


def test_metadata_names_the_topic_and_its_leader(shared_broker: Broker, topic: str) -> None:
    kcat(shared_broker, "-P", "-t", topic, given="x\n")
    listing = kcat(shared_broker, "-L", "-t", topic)
    for number, address in enumerate(shared_broker.bootstrap_servers.split(","), 1):
        assert f"broker {number} at {address}" in listing
    assert listing.count("(controller)") == 1
    assert re.search(r"partition 0, leader (\d), replicas: \1, isrs: \1", listing)


def test_offsets_are_found_by_time(shared_broker: Broker, topic: str) -> None:
    kcat(shared_broker, "-P", "-t", topic, given="early\n")
    time.sleep(0.05)
    between_ms = int(time.time() * 1000)
    time.sleep(0.05)
    kcat(shared_broker, "-P", "-t", topic, given="late\n")
    assert kcat(shared_broker, "-Q", "-t", f"{topic}:0:{between_ms}").split() == [
        topic,
        "[0]",
        "offset",
        "1",
    ]


def test_two_group_members_share_and_resume_after_a_restart(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    """Each member gets partitions of its own; what was committed is not read again."""
    kcat_create(broker, topic, partitions=2)
    for partition in (0, 1):
        kcat(
            broker,
            "-P",
            "-t",
            topic,
            "-p",
            str(partition),
            given="\n".join(f"{partition}-{n}" for n in range(100)) + "\n",
        )
    first = group_round(broker, topic, tmp_path / "first", expected=200)
    assert sorted(first) == sorted(f"{p}-{n}" for p in (0, 1) for n in range(100))
    broker.restart()
    kcat(broker, "-P", "-t", topic, "-p", "1", given="after restart\n")
    assert group_round(broker, topic, tmp_path / "second", expected=1) == ["after restart"]


def group_round(broker: Broker, topic: str, output: Path, expected: int) -> list[str]:
    """What two members of one group print until they have `expected` lines; they leave cleanly, which commits."""
    arguments = ["kcat", "-b", broker.bootstrap_servers, "-G", f"group-{topic}", "-u", "-q",
                 "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=30000", topic]  # fmt: skip
    files = [output.with_suffix(f".{n}") for n in (1, 2)]
    with ExitStack() as stack:
        members = [
            subprocess.Popen(
                arguments, stdout=stack.enter_context(file.open("wb")), stderr=subprocess.DEVNULL
            )
            for file in files
        ]
        deadline = time.monotonic() + LONG_ENOUGH_S
        while sum(len(file.read_bytes().splitlines()) for file in files) < expected:
            assert time.monotonic() < deadline, "the group did not read everything in 30 s"
            time.sleep(0.05)
        for member in members:
            member.terminate()
        for member in members:
            member.wait(LONG_ENOUGH_S)
    return [line for file in files for line in file.read_text().splitlines()]


def kcat_create(broker: Broker, topic: str, partitions: int) -> None:
    """kcat cannot create topics with partitions."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(LONG_ENOUGH_S)
