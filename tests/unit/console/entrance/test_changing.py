"""What administrators change, and how nobody else has them do it."""

from __future__ import annotations

import logging

import pytest

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
    assert "user 'alice' has deleted topic 'orders'" in caplog.text


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
