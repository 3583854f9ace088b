"""Each instance answers for all keys: its own from its stores, others by asking the instance that has them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from millstream.errors import ConfigError
from millstream.streams.host_info import HostInfo
from millstream.streams.query_server import QueryServer
from millstream.streams.query_server.application import create_query_application
from millstream.streams.query_server.forwarding import Answer
from millstream.streams.serdes import string
from tests.support.patched_library import patch_library
from tests.unit.streams.query_server.two_instances import HOSTS, Instances


@pytest.fixture
def instances() -> Iterator[Instances]:
    instances = Instances()
    for time, key in enumerate(["a", "a", "b/c d", "z"]):
        instances.pipe("in", key, "x", at=8 * time)
    for time, value in enumerate(["old", "new"]):
        instances.pipe("h", "a", value, at=time)
    instances.pipe("n", 7, "seven", at=0)
    yield instances
    instances.close()


@pytest.mark.parametrize("number", [0, 1])
async def test_a_key_is_answered_by_whichever_instance_is_asked(
    instances: Instances, number: int
) -> None:
    found = [await instances.get(number, f"/stores/rows/keys/{key}") for key in ("a", "z", "none")]
    assert found == [
        (200, {"store": "rows", "partition": 0, "key": "a", "value": 2}),
        (200, {"store": "rows", "partition": 1, "key": "z", "value": 1}),
        (200, {"store": "rows", "partition": 1, "key": "none", "value": None}),
    ]
    other = HOSTS[1 - number]
    assert {host for host, _ in instances.asked} == {other}, "its own keys it answers itself"


async def test_an_instance_says_how_many_records_its_own_tasks_have_dropped(
    instances: Instances,
) -> None:
    assert await instances.get(0, "/dropped") == (200, {"tasks": {"0_0": 0}})
    instances.each[0].driver.input_topic("in", key=string(), value=string()).pipe(None, "x", at=1)
    # The count, the windows and the sessions of the topic have each left it out.
    assert await instances.get(0, "/dropped") == (200, {"tasks": {"0_0": 3}})
    assert await instances.get(1, "/dropped") == (200, {"tasks": {"0_0": 0}})
    assert instances.asked == []


async def test_escapes_of_an_address_are_forwarded_as_they_came(instances: Instances) -> None:
    status, answer = await instances.get(1, "/stores/rows/keys/b%2Fc%20d")
    assert (status, answer["key"], answer["value"]) == (200, "b/c d", 1)
    assert instances.asked == [(HOSTS[0], "/stores/rows/keys/b%2Fc%20d")]


async def test_windows_sessions_and_versions_of_a_key(instances: Instances) -> None:
    _, windows = await instances.get(0, "/stores/windows/keys/a?time_from=0&time_to=9")
    assert windows["windows"] == [{"start_ms": 0, "value": 2}]
    _, sessions = await instances.get(1, "/stores/sessions/keys/a")
    assert sessions["windows"] == [{"key": "a", "start_ms": 0, "end_ms": 8, "value": 2}]
    _, version = await instances.get(0, "/stores/history/keys/a")
    assert version["value"] == {"value": "new", "timestamp": 1, "valid_to": None}
    _, none = await instances.get(0, "/stores/windows/keys/a?time_from=50")
    assert none["windows"] == []


async def test_a_text_is_a_key_of_the_stores_serde(instances: Instances) -> None:
    _, answer = await instances.get(0, "/stores/numbers/keys/7")
    assert (answer["key"], answer["value"]) == (7, "seven")
    status, problem = await instances.get(0, "/stores/numbers/keys/seven")
    assert (status, problem) == (
        400,
        {"error": "Bad Request", "message": "'seven' is no key of this store: write it as long"},
    )


async def test_rows_are_those_of_all_instances(instances: Instances) -> None:
    status, answer = await instances.get(1, "/stores/rows/rows")
    assert (status, answer["partitions"], answer["is_cut"]) == (200, [0, 1], False)
    rows = sorted((row["key"], row["value"]) for row in answer["rows"])
    assert rows == [("a", 2), ("b/c d", 1), ("z", 1)]
    _, some = await instances.get(0, "/stores/rows/rows?key_from=b&limit=1")
    assert (len(some["rows"]), some["is_cut"]) == (1, True)
    _, windows = await instances.get(0, "/stores/windows/rows?key_to=a")
    assert [(row["key"], row["start_ms"]) for row in windows["rows"]] == [("a", 0)]
    _, sessions = await instances.get(0, "/stores/sessions/rows")
    assert {row["key"] for row in sessions["rows"]} == {"a", "b/c d", "z"}


@pytest.mark.parametrize("path", ["/stores/x/keys/a", "/stores/x/rows", "/elsewhere"])
async def test_what_is_not_there_is_404(instances: Instances, path: str) -> None:
    status, problem = await instances.get(0, path)
    assert (status, problem["error"]) == (404, "Not Found")


async def test_a_partition_that_moves_is_503_and_no_row_that_is_missing(
    instances: Instances,
) -> None:
    instances.owned = [[], [1]]
    for number in range(2):
        status, problem = await instances.get(number, "/stores/rows/keys/a")
        assert (status, problem["error"]) == (503, "Service Unavailable")
        assert "ask again" in problem["message"]
    status, problem = await instances.get(0, "/stores/rows/rows")
    assert status == 503
    assert problem["message"].startswith("store rows has partitions 0 to 1, and [1] have answered")
    assert (await instances.headers(0, "/stores/rows/keys/a"))["retry-after"] == "1"


async def test_metadata_that_is_old_ends_in_503_and_not_in_a_circle(instances: Instances) -> None:
    instances.known = [HOSTS[1], HOSTS[0]]
    assert (await instances.get(0, "/stores/rows/keys/a"))[0] == 503
    assert len(instances.asked) == 1


async def test_an_instance_that_is_away_unknown_or_stopped_is_503(instances: Instances) -> None:
    instances.away.add(HOSTS[1])
    assert (await instances.get(0, "/stores/rows/keys/z"))[0] == 503
    assert (await instances.get(0, "/stores/rows/rows"))[0] == 503
    assert (await instances.get(0, "/stores/rows/keys/a"))[0] == 200
    instances.known[0] = None
    assert (await instances.get(0, "/stores/rows/keys/a"))[0] == 503
    instances.known[0] = HOSTS[0]
    instances.each[0].is_running = False
    assert (await instances.get(0, "/stores/rows/keys/a"))[0] == 503


async def test_an_address_at_which_something_else_listens_is_503(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(_host: HostInfo, _path: str) -> Answer:
        return Answer(200, b"<html>hello</html>")

    monkeypatch.setattr(instances, "ask", ask)
    status, problem = await instances.get(0, "/stores/rows/rows")
    assert status == 503
    assert "is no JSON" in problem["message"]


async def test_an_address_that_is_taken_is_told_as_one_error(
    instances: Instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_server(address: tuple[str, int]) -> None:
        raise OSError(f"{address[1]} is in use")

    patch_library(
        monkeypatch,
        "millstream.streams.query_server.serving",
        socket,
        create_server=create_server,
    )
    with pytest.raises(ConfigError, match=r"cannot listen at zero:7000 .7000 is in use.: give"):
        await QueryServer(instances.each[0], open_to_all=True).__aenter__()


async def test_a_copy_answers_for_a_host_that_is_away_where_that_is_allowed(
    instances: Instances,
) -> None:
    instances.copied = [[1], [0]]
    status, answer = await instances.get(0, "/stores/rows/keys/z?stale=true")
    assert (status, answer["value"], answer["is_stale"]) == (200, 1, False), "the host itself"
    instances.away.add(HOSTS[1])
    assert (await instances.get(0, "/stores/rows/keys/z"))[0] == 503
    assert (await instances.get(0, "/stores/rows/rows"))[0] == 503
    status, answer = await instances.get(0, "/stores/rows/keys/z?stale=true")
    assert (status, answer) == (
        200,
        {"store": "rows", "partition": 1, "key": "z", "value": 1, "is_stale": True},
    )
    _, answer = await instances.get(0, "/stores/windows/keys/z?stale=true")
    assert [each["value"] for each in answer["windows"]] == [1]
    status, answer = await instances.get(0, "/stores/rows/rows?stale=true")
    assert (status, answer["partitions"], answer["is_stale"]) == (200, [0, 1], True)
    assert sorted(row["key"] for row in answer["rows"]) == ["a", "b/c d", "z"]


async def test_a_copy_of_another_instance_is_asked_while_nobody_has_the_task(
    instances: Instances,
) -> None:
    instances.owned, instances.copied, instances.known = [[0], []], [[], [1]], [HOSTS[0], None]
    status, answer = await instances.get(0, "/stores/rows/keys/z?stale=true")
    assert (status, answer["value"], answer["is_stale"]) == (200, 1, True)
    status, answer = await instances.get(0, "/stores/rows/rows?stale=true&key_from=a")
    assert (status, answer["partitions"], answer["is_stale"]) == (200, [0, 1], True)
    assert instances.asked[-1] == (HOSTS[1], "/stores/rows/rows?stale=true&key_from=a&copies_of=1")
    instances.copied = [[], []]
    assert (await instances.get(0, "/stores/rows/rows?stale=true"))[0] == 503


async def test_a_task_that_is_being_restored_answers_as_a_copy_only_where_there_is_no_other(
    instances: Instances,
) -> None:
    """What is here twice over is not active: `copied` is what a task that is being restored has, too."""
    instances.owned, instances.copied, instances.known = [[0], []], [[], [1]], [HOSTS[0], HOSTS[1]]
    instances.standby = {0: frozenset(), 1: frozenset()}
    status, answer = await instances.get(0, "/stores/rows/keys/z?stale=true")
    assert (status, answer["is_stale"]) == (200, True), "nobody else has anything"
    assert (await instances.get(0, "/stores/rows/rows?stale=true"))[0] == 200
    instances.standby = {0: frozenset(), 1: frozenset({HOSTS[0]})}
    for path in ("/stores/rows/keys/z?stale=true", "/stores/rows/rows?stale=true"):
        assert (await instances.get(0, path))[0] == 503, "the copy has not come to be"
    instances.copied = [[1], [1]]
    instances.asked.clear()
    status, answer = await instances.get(0, "/stores/rows/keys/z?stale=true")
    assert (status, answer["value"], answer["is_stale"]) == (200, 1, True)
    assert [host for host, _ in instances.asked] == [HOSTS[1]], "it was asked for the active task"


async def test_a_copy_that_lacks_more_than_is_allowed_does_not_answer(
    instances: Instances,
) -> None:
    instances.copied, instances.lag = [[1], [0]], 3
    instances.away.add(HOSTS[1])
    for path in ("/stores/rows/keys/z", "/stores/rows/rows"):
        assert (await instances.get(0, f"{path}?max_lag=3"))[0] == 200
        assert (await instances.get(0, f"{path}?max_lag=2"))[0] == 503
        assert (await instances.get(0, f"{path}?max_lag=2&stale=true"))[0] == 503
    _, problem = await instances.get(0, "/stores/rows/keys/z?max_lag=2")
    assert "more than 2 records behind" in problem["message"]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=10001",
        "limit=x",
        "time_from=soon",
        "max_lag=-1",
        "max_lag=few",
        "stale=yes",
        "copies_of=1",
    ],
)
async def test_parameters_that_make_no_sense_are_400(instances: Instances, query: str) -> None:
    status, problem = await instances.get(0, f"/stores/rows/rows?{query}")
    assert (status, problem["error"]) == (400, "Bad Request")


async def test_an_application_without_an_address_is_refused(instances: Instances) -> None:
    instances.each[0].config = replace(instances.each[0].config, application_server="")
    with pytest.raises(ConfigError, match="give StreamsConfig an application_server"):
        create_query_application(instances.each[0])
