"""The console as users start it, over a real broker, asked over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from millstream.clients import NewTopic, OffsetAndMetadata, TopicPartition, blocking
from millstream.model import uuid_text
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, wait_until

MARKUP = "<script>alert(1)</script>"
GROUP = f"billing/{MARKUP}"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> dict:
        return json.loads(self.text)


def get(url: str) -> Answer:
    try:
        with urllib.request.urlopen(url, timeout=LONG_ENOUGH_S) as response:
            return Answer(response.status, dict(response.headers), response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers), error.read().decode())


COMMAND = [sys.executable, "-m", "millstream.cli.main", "console", "--port", "0"]


@contextmanager
def running_console(
    *options: str, environment: dict[str, str] | None = None, scheme: str = "http"
) -> Iterator[str]:
    """Yields its address without the last slash; a clean end on SIGTERM is part of every test."""
    process = subprocess.Popen(
        [*COMMAND, *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | (environment or {}),
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"millstream console url={scheme}://127.0.0.1:")
        yield line.split("url=")[1].split()[0].rstrip("/")
        process.terminate()
        assert process.wait(timeout=LONG_ENOUGH_S) == 0
    finally:
        process.kill()
        process.wait(timeout=LONG_ENOUGH_S)
        process.stdout.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as broker:
        fill(broker.bootstrap_servers)
        yield broker


@pytest.fixture(scope="module")
def console(broker: Broker) -> Iterator[str]:
    with running_console("-b", broker.bootstrap_servers) as url:
        yield url


def fill(bootstrap_servers: str) -> None:
    with blocking.Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topics(
            [
                NewTopic("hostile", 1, configs={"retention.ms": "604800000"}),
                NewTopic("flights", 3),
                *(NewTopic(f"many-{number:02d}", 1) for number in range(60)),
            ]
        ).raise_errors()
        with blocking.Producer(bootstrap_servers=bootstrap_servers) as producer:
            headers = [(MARKUP, MARKUP.encode())]
            producer.send("hostile", MARKUP.encode(), key=MARKUP.encode(), headers=headers)
            producer.send("hostile", b"\x00\xff" * 1000)
            producer.send("hostile", None, key=b"gone")
            for number in range(25):
                producer.send("flights", f"flight {number}".encode(), partition=1)
            producer.flush()
        committed = {TopicPartition("flights", 1): OffsetAndMetadata(10)}
        admin.alter_consumer_group_offsets(GROUP, committed).raise_errors()


def test_the_overview_names_the_cluster_and_counts(broker: Broker, console: str) -> None:
    view = get(f"{console}/overview.json").json
    assert view["cluster_id"] == broker.cluster_id
    assert [each["address"] for each in view["brokers"]] == [broker.bootstrap_servers]
    assert view["brokers"][0]["is_controller"] is True
    assert (view["topic_count"], view["group_count"]) == (62, 1)
    assert broker.cluster_id in get(f"{console}/").text


def test_brokers_are_shown_with_the_quorum_and_their_directories(
    broker: Broker, console: str
) -> None:
    view = get(f"{console}/brokers.json").json
    (node,) = view["nodes"]
    assert (node["roles"], node["state"], node["place"]) == (
        ["broker", "controller"],
        "active",
        "leader",
    )
    assert (view["leader_id"], view["voter_count"], view["quorum_error"]) == (
        node["node_id"],
        1,
        None,
    )
    assert [each["path"] for each in node["directories"]] == [str(broker.data)]
    page = get(f"{console}/brokers").text
    assert broker.bootstrap_servers in page
    assert 'aria-current="page">Brokers' in page


def test_topics_come_fifty_at_a_time_with_what_they_hold(console: str) -> None:
    first = get(f"{console}/topics.json").json
    assert (len(first["topics"]), first["page"]["page_count"]) == (50, 2)
    topics = {topic["name"]: topic for topic in first["topics"]}
    assert (topics["flights"]["partition_count"], topics["flights"]["record_count"]) == (3, 25)
    assert [
        (config["name"], config["value"], config["source"])
        for config in topics["hostile"]["changed_configs"]
    ] == [
        ("retention.ms", "604800000", "topic"),
    ]
    filtered = get(f"{console}/topics.json?filter=LIGHT").json
    assert [topic["name"] for topic in filtered["topics"]] == ["flights"]


def test_one_topic_shows_partitions_configs_and_its_latest_records(console: str) -> None:
    view = get(f"{console}/topic.json?name=flights").json
    assert [row["offsets"]["end"] for row in view["partitions"]] == [0, 25, 0]
    assert view["configs"][-1]["source"] == "default"
    assert view["records"]["partition"] == 1, "the first partition with records"
    assert [record["offset"] for record in view["records"]["records"]] == list(range(24, 4, -1))
    assert view["records"]["records"][0]["value"]["text"] == "flight 24"
    empty = get(f"{console}/topic.json?name=flights&partition=2").json
    assert empty["records"] == {"partition": 2, "records": [], "error": None}


def test_hostile_records_are_text_and_hex_and_never_markup(console: str) -> None:
    page = get(f"{console}/topic?name=hostile")
    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" not in page.text
    assert page.text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 4, "key, value, header"
    assert "00 ff 00 ff" in page.text
    records = get(f"{console}/topic.json?name=hostile").json["records"]["records"]
    assert records[0]["value"] is None
    assert (records[1]["value"]["encoding"], records[1]["value"]["size_bytes"]) == ("hex", 2000)
    assert records[2]["headers"][0]["name"]["text"] == MARKUP


def test_many_slow_clients_take_no_place_of_others(console: str) -> None:
    """More of them than there are places, none of which ever ends its request: the longest silent ones make room."""
    host, port = console.removeprefix("http://").split(":")
    with ExitStack() as opened:
        for _ in range(80):
            slow = opened.enter_context(socket.create_connection((host, int(port))))
            slow.sendall(b"GET / HTTP/1.1\r\nHo")
        assert get(f"{console}/").status == 200
        assert get(f"{console}/topics").status == 200


def test_groups_show_their_lag(console: str) -> None:
    groups = get(f"{console}/groups.json").json["groups"]
    assert [(group["group_id"], group["state"], group["total_lag"]) for group in groups] == [
        (GROUP, "Empty", 15)
    ]
    page = get(f"{console}/group?id={quote(GROUP, safe='')}")
    assert page.status == 200
    assert "<script" not in page.text
    partitions = get(f"{console}/group.json?id={quote(GROUP, safe='')}").json["partitions"]
    assert [
        (row["topic"], row["partition"], row["committed_offset"], row["end_offset"], row["lag"])
        for row in partitions
    ] == [("flights", 1, 10, 25, 15)]


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("/topic?name=nosuch", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("/topic?name=flights&partition=3", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("/topic?name=%00%3Cscript%3E", "INVALID_TOPIC_EXCEPTION"),
        ("/group?id=nosuch", "GROUP_ID_NOT_FOUND"),
    ],
)
def test_what_is_not_there_is_404(console: str, address: str, error: str) -> None:
    page = get(f"{console}{address}")
    assert page.status == 404
    assert error in page.text
    assert "<script" not in page.text


def test_a_name_beyond_the_protocol_is_404(console: str) -> None:
    assert get(f"{console}/topic?name={'a' * 40_000}").status == 404


def test_a_console_without_a_broker_answers_503_and_recovers() -> None:
    with (
        Broker(in_process=False) as broker,
        running_console("-b", broker.bootstrap_servers, "--timeout-ms", "1000") as url,
    ):
        wait_until(lambda: get(f"{url}/").status == 200)
        broker.kill()
        for address in ("/", "/topics", "/topic?name=x", "/groups", "/group?id=x"):
            page = get(f"{url}{address}")
            assert page.status == 503, address
            assert "The cluster cannot be reached" in page.text
        assert get(f"{url}/console.css").status == 200
        broker.restart()
        wait_until(lambda: get(f"{url}/").status == 200)  # each waits a second at most


def test_a_topic_made_anew_is_shown_as_it_is_now(broker: Broker, console: str) -> None:
    """What the console's clients remember of the old topic must not show through."""
    with (
        blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        blocking.Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
    ):
        for content in (b"old", b"new"):
            admin.create_topics([NewTopic("again", 1)]).raise_errors()
            producer.send("again", content)
            producer.flush()
            view = get(f"{console}/topic.json?name=again").json
            assert [each["value"]["text"] for each in view["records"]["records"]] == [
                content.decode()
            ]
            described = admin.describe_topics(["again"]).result("again")
            assert view["topic_id"] == uuid_text(described.topic_id)
            admin.delete_topics(["again"]).raise_errors()
            assert get(f"{console}/topic?name=again").status == 404


@pytest.mark.timeout(LONG_ENOUGH_S)
def test_a_cluster_that_refuses_is_told_at_once_on_the_terminal_and_on_the_page() -> None:
    """The console waits ten minutes for an answer, and not at all for a cluster where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = subprocess.Popen(
            [*COMMAND, "-b", address, "--timeout-ms", "600000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = process.stdout.readline().split("url=")[1].split()[0]
            told = f"cannot connect to {address}: refused; nothing listens there"
            assert told in process.stderr.readline()
            for path in ("", "topics", "topic?name=x", "groups", "group?id=x"):
                page = get(f"{url}{path}")
                assert page.status == 503
                assert told in page.text
        finally:
            process.kill()
            process.communicate(timeout=LONG_ENOUGH_S)


def test_the_cluster_is_named_as_for_other_verbs(broker: Broker, tmp_path: Path) -> None:
    """By the environment; by a client's properties, whose name the broker then sees."""
    with running_console(
        environment={"MILLSTREAM_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
    ) as url:
        assert get(f"{url}/overview.json").json["cluster_id"] == broker.cluster_id
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={broker.bootstrap_servers}\n")
    with running_console("--config-file", str(file), "-X", "client.id=me") as url:
        assert get(f"{url}/topic.json?name=flights").json["records"]["records"]


def test_a_console_that_must_not_trust_the_cluster_does_not(broker: Broker) -> None:
    """TLS is asked for and the broker has none: settings of security reach the console's clients."""
    with running_console("-b", broker.bootstrap_servers, "-X", "security.protocol=SSL") as url:
        assert get(f"{url}/overview.json").status in {502, 503}
