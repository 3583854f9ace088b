"""Interactive queries: the stores of an application on Spark, asked in the hosts that have them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.spark import RunnerOptions, SparkQueryServer, SparkStreams
from millstream.spark.pipeline import jobs
from millstream.spark.pipeline.queries.metadata import TaskHostInfo
from millstream.streams import Materialized, StreamsBuilder, TimeWindows, queries
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    StoreNotAvailable,
    StreamsNotStarted,
)
from millstream.streams.queries import (
    FailureReason,
    KeyQuery,
    StateQueryRequest,
    StoreQueryParameters,
)
from millstream.streams.serdes import Windowed, string
from millstream.streams.topology import Topology
from tests.integration.spark.conftest import Topics
from tests.patience import LONG_ENOUGH_S, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
WORDS = ["a", "b", "c", "d", "a", "b", "a"]
COUNTS = {"a": 3, "b": 2, "c": 1, "d": 1}


def counting(source: str, names: str) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream(source, key=string(), value=string()).group_by_key()
    grouped.count(materialized=Materialized("counts"))
    windows = TimeWindows.tumbling(timedelta(milliseconds=10), grace=timedelta(0))
    grouped.windowed_by(windows).count(materialized=Materialized("windows"))
    builder.global_table(names, key=string(), value=string(), materialized=Materialized("names"))
    return builder.build()


@pytest.fixture(scope="module")
def topics(bootstrap: str) -> Topics:
    return Topics(bootstrap)


@pytest.fixture(scope="module")
def source(topics: Topics) -> str:
    name = topics.new("asked", 2)
    topics.put(name, [{"key": key.encode(), "value": b"", "timestamp_ms": 5} for key in WORDS])
    return name


@pytest.fixture(scope="module")
def application(
    spark: Any, topics: Topics, source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkStreams]:
    names = topics.new("names")
    topics.put(names, [{"key": b"a", "value": b"Anna"}])
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers,
        directory=str(tmp_path_factory.mktemp("asked")),
    )
    config = StreamsConfig(application_id=f"app-{source}")
    with SparkStreams(counting(source, names), config, spark, options) as application:
        with pytest.raises(StreamsNotStarted, match="is CREATED: its stores can be asked once"):
            application.store("counts")
        application.start()
        wait_until(lambda: len(application.metadata_for_all_streams_clients()) == 2)
        wait_until(lambda: again(lambda: dict(application.store("counts").all())) == COUNTS)
        yield application
    with pytest.raises(StreamsNotStarted, match="is NOT_RUNNING"):
        application.store("counts")


def again(ask: Callable[[], Any]) -> Any:
    """Asks until the tasks can be asked."""
    found: list[Any] = []

    def asked() -> bool:
        try:
            found.append(ask())
        except StoreNotAvailable:
            return False
        return True

    wait_until(asked)
    return found[-1]


def test_a_key_is_found_in_whichever_task_has_it(application: SparkStreams) -> None:
    counts = application.store("counts")
    assert {key: counts.get(key) for key in (*COUNTS, "absent")} == COUNTS | {"absent": None}
    whole = StoreQueryParameters("counts", queries.timestamped_key_value_store())
    assert application.store(whole).get("a") == (3, 5)
    assert counts.approximate_num_entries() == 4
    assert sorted(counts.range("b", "c")) == [("b", 2), ("c", 1)]


def test_windows_and_global_stores_answer(application: SparkStreams) -> None:
    windows = application.store("windows")
    assert windows.fetch("a", 0) == 3
    assert windows.fetch("b", 0, 100) == [(0, 2)]
    assert dict(windows.fetch_all()) == {
        Windowed(key, 0, 10): count for key, count in COUNTS.items()
    }
    assert application.store("names").get("a") == "Anna"


def test_metadata_says_which_host_has_a_key(application: SparkStreams) -> None:
    for key, count in COUNTS.items():
        found = application.query_metadata_for_key("counts", key)
        assert found.partition == partition_for_key(key.encode(), 2)
        only = StoreQueryParameters("counts", queries.key_value_store(), found.partition)
        assert application.store(only).get(key) == count
        assert found.active_host in {TaskHostInfo("driver", 0), TaskHostInfo("driver", 1)}
    given = application.query_metadata_for_key(
        "counts", 7, partitioner=lambda key, count: key % count
    )
    assert given.partition == 1
    hosts = application.streams_metadata_for_store("counts")
    assert [each.host for each in hosts] == [TaskHostInfo("driver", 0), TaskHostInfo("driver", 1)]
    assert application.streams_metadata_for_store("none") == []


def test_a_state_query_has_a_result_for_each_partition(
    application: SparkStreams, source: str
) -> None:
    own = application.query_metadata_for_key("counts", "a").partition
    found = application.query(StateQueryRequest("counts", KeyQuery("a"), partitions=[0, 1, 2]))
    assert {number: each.failure for number, each in found.partitions.items()} == {
        0: None,
        1: None,
        2: FailureReason.DOES_NOT_EXIST,
    }
    assert [found.partitions[own].value, found.partitions[1 - own].value] == [3, None]
    held = [partition_for_key(key.encode(), 2) for key in WORDS]
    assert found.position == {source: {number: held.count(number) - 1 for number in (0, 1)}}


def test_what_cannot_be_asked_is_said_in_a_sentence(application: SparkStreams) -> None:
    with pytest.raises(InvalidStoreError, match=r"there is no store nothing; there are \["):
        application.store("nothing")
    with pytest.raises(InvalidStorePartition, match="counts has partitions 0 to 1, not 2"):
        application.store(StoreQueryParameters("counts", queries.key_value_store(), 2))
    with pytest.raises(InvalidStoreError, match="no window store"):
        list(application.store(StoreQueryParameters("counts", queries.window_store())).all())


def test_a_host_on_another_machine_is_asked_by_a_job(
    application: SparkStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.HostAddress, "is_here", False)
    assert dict(application.store("counts").all()) == COUNTS


def test_a_host_that_dies_is_an_error_to_ask_again_after_and_its_tasks_are_opened_anew(
    application: SparkStreams,
) -> None:
    """Nothing has come for the tasks, so nothing else would open them."""
    counts = application.store("counts")
    request = StateQueryRequest("counts", KeyQuery("a"))
    before = application.query(request).position
    for address in application._jobs._addresses.values():
        os.kill(pid_of(Path(address.socket)), signal.SIGKILL)
    with pytest.raises(StoreNotAvailable, match=r"task 0_\d of store counts is being opened, ask"):
        counts.get("a")
    assert again(lambda: dict(counts.all())) == COUNTS
    assert application.query(request).position == before != {}
    assert application.state == "RUNNING"


def pid_of(socket: Path) -> int:
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                command = (process / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if re.search(f"host_process\0{re.escape(str(socket))}\0", command):
                return int(process.name)
    raise AssertionError(f"no host at {socket}")


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return "{}:{}".format(*probe.getsockname())


def asked(url: str, path: str) -> tuple[int, Any]:
    """Status and JSON of an answer; a curl outside of the driver sees the same."""
    try:
        with urlopen(f"{url}{path}", timeout=LONG_ENOUGH_S) as response:
            return response.status, json.loads(response.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


def test_stores_are_asked_over_http_by_whoever_reaches_the_driver(
    application: SparkStreams, source: str
) -> None:
    address = free_address()
    with SparkQueryServer(application, address):
        url = f"http://{address}"
        wait_until(lambda: asked(url, "/stores/counts/rows")[0] == 200)
        own = partition_for_key(b"a", 2)
        assert asked(url, "/stores/counts/keys/a") == (
            200,
            {"store": "counts", "partition": own, "key": "a", "value": 3},
        )
        assert asked(url, "/stores/counts/keys/absent")[1]["value"] is None
        assert asked(url, "/stores/names/keys/a")[1]["value"] == "Anna"
        assert asked(url, "/stores/windows/keys/b")[1]["windows"] == [{"start_ms": 0, "value": 2}]
        status, rows = asked(url, "/stores/counts/rows")
        assert (status, rows["partitions"], rows["is_cut"]) == (200, [0, 1], False)
        assert {row["key"]: row["value"] for row in rows["rows"]} == COUNTS
        assert asked(url, "/stores/none/keys/a")[0] == 404
    with pytest.raises(URLError):
        asked(url, "/stores/counts/keys/a")


def test_an_application_that_has_yet_to_run_says_over_http_to_ask_again(
    spark: Any, topics: Topics, tmp_path: Path
) -> None:
    source, names = topics.new("early", 2), topics.new("early-names")
    options = RunnerOptions(bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path))
    config = StreamsConfig(application_id=f"app-{source}")
    address = free_address()
    with (
        SparkStreams(counting(source, names), config, spark, options) as application,
        SparkQueryServer(application, address),
    ):
        for path in ("/stores/counts/keys/a", "/stores/counts/rows", "/stores/names/keys/a"):
            status, told = asked(f"http://{address}", path)
            assert (status, told["error"]) == (503, "Service Unavailable")
            assert "CREATED" in told["message"]
