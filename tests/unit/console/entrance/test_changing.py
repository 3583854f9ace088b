"""What administrators change, and how nobody else has them do it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from millstream.console.cluster_changes import ClusterChanges
from millstream.errors import (
    BrokerNotAvailable,
    MalformedMessage,
    NetworkException,
    RequestTimedOut,
    TopicAlreadyExists,
    UnknownServerError,
)
from millstream.net.client.tasks import ClientClosed
from tests.unit.console.entrance.browser import Browser
from tests.unit.console.entrance.cluster import Cluster
from tests.unit.console.entrance.test_logins import log_in

FORMS = {
    "/topic/create": {"name": "orders", "partitions": "3"},
    "/topic/delete": {"name": "orders", "confirmed": "orders"},
    "/group/delete": {"id": "billing", "confirmed": "billing"},
}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def someone(cluster: Cluster, user: str, password: str) -> tuple[Browser, str]:
    """A browser that has logged in, and its token."""
    browser = Browser(cluster.application)
    await log_in(browser, user, password)
    return browser, (await browser.get("/topics")).token


async def test_an_administrator_changes_what_the_forms_say_as_its_own_user(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    with caplog.at_level(logging.INFO):
        for path, fields in FORMS.items():
            assert (await browser.post(path, fields | {"token": token})).status == 303
    assert cluster.changed == [
        ("alice", "create", "orders", 3),
        ("alice", "delete topic", "orders", None),
        ("alice", "delete group", "billing", None),
    ]
    assert "user 'alice' from 10.0.0.9 has deleted topic 'orders'" in caplog.text


@pytest.mark.parametrize("path", FORMS)
async def test_a_reader_changes_nothing_and_is_shown_no_form(cluster: Cluster, path: str) -> None:
    browser, token = await someone(cluster, "bob", "builder")
    answer = await browser.post(path, FORMS[path] | {"token": token})
    assert answer.status == 403
    assert "You may read here, and change nothing." in answer.text
    assert cluster.changed == []
    assert "Create a topic" not in (await browser.get("/topics")).text


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_without_the_token_of_its_browser_changes_nothing(
    cluster: Cluster, path: str
) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    _, other = await someone(cluster, "alice", "wonder")
    for shown in ("", other, token[:-1]):
        assert (await browser.post(path, FORMS[path] | {"token": shown})).status == 403
    assert (await browser.post(path, FORMS[path])).status == 403
    assert cluster.changed == []


@pytest.mark.parametrize("path", FORMS)
async def test_a_page_of_another_site_changes_nothing_even_with_the_token(
    cluster: Cluster, path: str
) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    browser.site = "cross-site"
    assert (await browser.post(path, FORMS[path] | {"token": token})).status == 403
    assert cluster.changed == []


@pytest.mark.parametrize("path", FORMS)
async def test_nothing_changes_without_a_login_or_by_a_link(cluster: Cluster, path: str) -> None:
    stranger = Browser(cluster.application)
    token = (await stranger.get("/login")).token
    assert (await stranger.post(path, FORMS[path] | {"token": token})).status == 401
    browser, token = await someone(cluster, "alice", "wonder")
    assert (await browser.get(f"{path}?name=orders&token={token}")).status == 405
    assert cluster.changed == []


async def test_what_is_deleted_is_named_twice(cluster: Cluster) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    for confirmed in ("", "Orders", "orders "):
        fields = {"name": "orders", "confirmed": confirmed, "token": token}
        answer = await browser.post("/topic/delete", fields)
        assert answer.status == 400
        assert "Nothing was deleted" in answer.text
    assert cluster.changed == []


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"name": ""}, 400),
        ({}, 400),
        ({"name": "x", "partitions": "-1"}, 400),
        ({"name": "x", "partitions": "999999"}, 400),
        ({"name": "x", "partitions": "²"}, 400),
        ({"name": "x"}, 303),
        ({"name": "forbidden"}, 403),
    ],
)
async def test_a_topic_that_cannot_be_is_refused_with_a_sentence(
    cluster: Cluster, fields: dict[str, str], status: int
) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    assert (await browser.post("/topic/create", fields | {"token": token})).status == status


async def test_a_name_in_the_address_that_follows_is_no_header(cluster: Cluster) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    fields = {"name": "x\r\nSet-Cookie: a=b", "token": token}
    answer = await browser.post("/topic/create", fields)
    assert answer.header("location") == "/topic?name=x%0D%0ASet-Cookie%3A+a%3Db"
    assert answer.header("set-cookie") is None


async def create(cluster: Cluster) -> int:
    """The status of a topic's creation by an administrator."""
    browser, token = await someone(cluster, "alice", "wonder")
    answer = await browser.post("/topic/create", {"name": "orders", "token": token})
    return answer.status


@pytest.mark.parametrize(
    ("lost", "status"),
    [
        (RequestTimedOut(), 503),
        (NetworkException(), 503),
        (BrokerNotAvailable(), 503),
        (UnknownServerError(), 502),
        (MalformedMessage("cut"), 502),
        (ClientClosed("admin is closed"), 502),
    ],
)
async def test_what_may_have_been_done_is_not_said_to_be_undone(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, lost: Exception, status: int
) -> None:
    cluster.answer_lost = lost
    with caplog.at_level(logging.INFO):
        assert await create(cluster) == status
    assert "user 'alice' from 10.0.0.9 may have created topic 'orders'" in caplog.text
    assert "10.0.0.9 has" not in caplog.text


async def test_an_administrator_is_told_to_look_before_it_tries_again(cluster: Cluster) -> None:
    cluster.answer_lost = NetworkException("the connection was lost.")
    browser, token = await someone(cluster, "alice", "wonder")
    answer = await browser.post("/topic/create", {"name": "orders", "token": token})
    assert "the connection was lost. Whether it was done is not known: look before" in answer.text


async def test_a_change_is_not_waited_for_longer_than_a_page() -> None:
    class Silent:
        async def create_topics(self, _: object) -> None:
            await asyncio.Event().wait()

        delete_topics = delete_groups = create_topics

    silent: Any = Silent()
    changes = ClusterChanges(silent, limit_ms=0)
    for change in (
        changes.create_topic("orders", None),
        changes.delete_topic("orders"),
        changes.delete_group("billing"),
    ):
        with pytest.raises(RequestTimedOut, match="what this form asks within 0 ms"):
            await change


async def test_a_change_that_was_given_up_in_the_middle_has_its_line(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.answer_lost = asyncio.CancelledError()
    with caplog.at_level(logging.INFO), pytest.raises(asyncio.CancelledError):
        await create(cluster)
    assert "may have created topic 'orders', which the cluster has not said" in caplog.text


async def test_what_the_cluster_refuses_was_not_done_and_its_sentence_is_one_line(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.answer_lost = TopicAlreadyExists("orders\nuser 'bob' has deleted topic 'x'")
    with caplog.at_level(logging.INFO):
        await create(cluster)
    (line,) = [each for each in caplog.messages if "orders" in each]
    assert line == (
        "user 'alice' from 10.0.0.9 has not created topic 'orders': orders user 'bob' has deleted topic 'x'"
    )


async def test_a_form_ends_the_session_of_who_the_cluster_lets_in_no_more(
    cluster: Cluster,
) -> None:
    browser, token = await someone(cluster, "alice", "wonder")
    cluster.removed.add("alice")
    answer = await browser.post("/topic/create", {"name": "orders", "token": token})
    assert (answer.status, answer.header("location")) == (303, "/login?next=%2Ftopic%2Fcreate")
    assert cluster.opened[0].is_closed
    cluster.removed.clear()
    assert (await browser.get("/topics")).status == 303


async def test_who_is_refused_a_change_has_a_line_a_second(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    browser, token = await someone(cluster, "bob", "builder")
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            await browser.post("/topic/delete", FORMS["/topic/delete"] | {"token": token})
        cluster.time.ms += 1_000
        browser.site = "cross-site"
        await browser.post("/topic/delete", FORMS["/topic/delete"] | {"token": token})
    told = [each for each in caplog.messages if "refused" in each]
    assert told == [
        "form '/topic/delete' of user 'bob' from 10.0.0.9 was refused: You may read here, and change nothing.",
        "form '/topic/delete' of user 'bob' from 10.0.0.9 was refused: This form was sent by a page of another site. (4 more from there before)",
    ]
