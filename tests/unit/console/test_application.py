"""The edge over pages that are made up here: addresses, status codes, escaping, headers. No sockets."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest

from millstream.clients import OffsetAndMetadata, OffsetAndTimestamp
from millstream.clients.admin import (
    ClusterDescription,
    ConfigEntry,
    ConfigSource,
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    LogDirDescription,
    Results,
    TopicDescription,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.console.application import create_application
from millstream.console.entrance.entrance import Everybody
from millstream.console.views.brokers import BrokersView, brokers_view
from millstream.console.views.groups import GroupsView, GroupView, group_view, groups_view
from millstream.console.views.offsets import PartitionOffsets
from millstream.console.views.overview import OverviewView, overview_view
from millstream.console.views.paging import Selection, select_page
from millstream.console.views.payload import show_bytes
from millstream.console.views.records import HeaderRow, RecordRow, RecordsView
from millstream.console.views.topic import TopicView, topic_view
from millstream.console.views.topics import TopicsView, topics_view
from millstream.errors import (
    MillstreamError,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from millstream.model import ZERO_UUID, TopicPartition
from millstream.net.client.core.addresses import Address
from millstream.runtime.system import SystemClock

HOSTILE = "\"'><script>alert(1)</script>\u202egnp.exe"
"""Markup, and what turns the text behind it around."""
PARTITION = TopicPartition(HOSTILE, 0)
TOPIC = TopicDescription(HOSTILE, ZERO_UUID, False, [PartitionDescription(0, 1, 0, (1,), (1,))])
RANGES = {PARTITION: PartitionOffsets(0, 1, 1)}
ENDS = {PARTITION: OffsetAndTimestamp(9, -1)}
COMMITTED = {PARTITION: OffsetAndMetadata(2)}
CONFIGS = {HOSTILE: ConfigEntry(HOSTILE, HOSTILE, ConfigSource.TOPIC_CONFIG, False, False)}
GROUP = GroupDescription(
    HOSTILE,
    HOSTILE,
    "consumer",
    HOSTILE,
    [GroupMemberDescription(HOSTILE, HOSTILE, HOSTILE, HOSTILE, [PARTITION])],
)


@dataclass
class HostilePages:
    """Every text that a stranger can choose is markup. `failure` is raised instead of showing anything."""

    failure: Exception | None = None
    asked: list[object] = field(default_factory=list)
    is_closed: bool = False

    async def overview(self) -> OverviewView:
        self._check("overview")
        node = BrokerNode(1, Address(HOSTILE, 9092), HOSTILE)
        listing = GroupListing(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        return overview_view(ClusterDescription(HOSTILE, 1, [node]), [TOPIC], [listing])

    async def brokers(self) -> BrokersView:
        self._check("brokers")
        node = BrokerNode(1, Address(HOSTILE, 9092), HOSTILE)
        directory = Results({HOSTILE: LogDirDescription({}, None, None, False)})
        cluster = ClusterDescription(HOSTILE, 1, [node], None, frozenset({1}))
        return brokers_view(cluster, UnknownServerError(HOSTILE), [TOPIC], {1: directory})

    async def topics(self, selection: Selection) -> TopicsView:
        self._check(selection)
        _, page = select_page([HOSTILE] * 120, selection)
        error = UnknownTopicOrPartition(HOSTILE)
        found = Results({HOSTILE: TOPIC, "gone": error})
        return topics_view([HOSTILE, "gone"], page, found, RANGES, Results())

    async def topic(self, name: str, partition: int | None = None) -> TopicView:
        self._check((name, partition))
        content = show_bytes(HOSTILE.encode())
        record = RecordRow(0, -1, None, content, content, (HeaderRow(content, content),))
        return topic_view(TOPIC, RANGES, CONFIGS, RecordsView(0, (record,), HOSTILE))

    async def groups(self, selection: Selection) -> GroupsView:
        self._check(selection)
        _, page = select_page([HOSTILE], selection)
        listing = GroupListing(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        return groups_view([listing], page, Results({HOSTILE: GROUP}), {HOSTILE: COMMITTED}, ENDS)

    async def group(self, group_id: str) -> GroupView:
        self._check(group_id)
        return group_view(GROUP, COMMITTED, ENDS)

    async def close(self) -> None:
        self.is_closed = True

    def _check(self, asked: object) -> None:
        self.asked.append(asked)
        if self.failure is not None:
            raise self.failure


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


async def ask(
    pages: HostilePages,
    address: str,
    *,
    method: str = "GET",
    accept: str = "text/html",
    host: str = "localhost:8080",
    allowed_hosts: tuple[str, ...] = ("*",),
) -> Answer:
    path, _, query = address.partition("?")
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"accept", accept.encode()), (b"host", host.encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080),
    }  # fmt: skip
    with contextlib.suppress(ZeroDivisionError):  # answered first, then raised for the server's log
        await create_application(Everybody(pages, SystemClock()), allowed_hosts)(
            scope, receive, send
        )
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers, body.decode())


EVERY_PAGE = ["/", "/brokers", "/topics", "/topic?name=x", "/groups", "/group?id=x"]
TWINS = {
    "/": "/overview.json",
    "/brokers": "/brokers.json",
    "/topics": "/topics.json",
    "/topic?name=x": "/topic.json?name=x",
    "/groups": "/groups.json",
    "/group?id=x": "/group.json?id=x",
}


@pytest.mark.parametrize("address", EVERY_PAGE)
async def test_no_text_of_a_stranger_becomes_markup(address: str) -> None:
    answer = await ask(HostilePages(), address)
    assert answer.status == 200
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert "\"'>" not in answer.text
    assert "\u202e" not in answer.text
    assert "\\u202egnp.exe" in answer.text


@pytest.mark.parametrize("address", EVERY_PAGE)
async def test_every_page_has_a_json_twin_at_an_address_of_its_own(address: str) -> None:
    html = await ask(HostilePages(), address)
    twin = await ask(HostilePages(), TWINS[address])
    assert f'href="{TWINS[address]}"' in html.text
    assert twin.headers["content-type"] == "application/json"
    assert HOSTILE in json.dumps(json.loads(twin.text), ensure_ascii=False).replace('\\"', '"')


async def test_json_is_given_to_who_accepts_json_and_not_html() -> None:
    program = await ask(HostilePages(), "/", accept="application/json")
    browser = await ask(HostilePages(), "/", accept="text/html,application/json;q=0.9")
    assert program.headers["content-type"] == "application/json"
    assert browser.headers["content-type"] == "text/html; charset=utf-8"


async def test_names_travel_in_the_query_whatever_their_characters() -> None:
    pages = HostilePages()
    await ask(pages, f"/topic?name={quote('../a/b?c&d.json', safe='')}&partition=3")
    await ask(pages, f"/group.json?id={quote('group/1 %2F', safe='')}")
    assert pages.asked == [("../a/b?c&d.json", 3), "group/1 %2F"]


async def test_filter_and_page_reach_the_list_and_its_links() -> None:
    pages = HostilePages()
    answer = await ask(pages, "/topics?filter=script&page=2")
    assert pages.asked == [Selection("script", 2)]
    assert 'href="/topics?filter=script&amp;page=3"' in answer.text


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (UnknownTopicOrPartition("nosuch: not here"), 404),
        (RequestTimedOut("late: no broker answers"), 503),
        (MillstreamError("odd: something else"), 502),
    ],
)
async def test_a_typed_error_becomes_a_page_with_its_sentence(
    failure: MillstreamError, status: int
) -> None:
    html = await ask(HostilePages(failure), "/topic?name=x")
    twin = await ask(HostilePages(failure), "/topic.json?name=x")
    assert (html.status, twin.status) == (status, status)
    assert str(failure) in html.text
    assert json.loads(twin.text)["sentence"] == str(failure)


async def test_the_sentence_of_an_error_is_escaped_too() -> None:
    answer = await ask(HostilePages(UnknownTopicOrPartition(HOSTILE)), "/topic?name=x")
    assert "<script" not in answer.text


async def test_a_fault_of_the_console_tells_strangers_nothing() -> None:
    answer = await ask(HostilePages(ZeroDivisionError("secret detail")), "/")
    assert answer.status == 500
    assert "secret detail" not in answer.text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/nosuch", 404),
        ("/topic", 400),
        ("/topic?name=", 400),
        ("/topic?name=x&partition=-1", 400),
        ("/topics?page=%C2%B2", 400),
        ("/topics?page=99999999999999999999", 400),
    ],
)
async def test_an_address_that_means_nothing_is_refused(address: str, status: int) -> None:
    pages = HostilePages()
    assert (await ask(pages, address)).status == status
    assert pages.asked == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_the_console_only_reads(method: str) -> None:
    pages = HostilePages()
    answer = await ask(pages, "/topic?name=x", method=method)
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert pages.asked == []


@pytest.mark.parametrize("address", [*EVERY_PAGE, "/console.css", "/nosuch", "/topic"])
async def test_every_response_forbids_scripts(address: str) -> None:
    headers = (await ask(HostilePages(), address)).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"


async def test_even_a_fault_forbids_scripts() -> None:
    headers = (await ask(HostilePages(ZeroDivisionError()), "/")).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")


async def test_another_name_of_this_machine_gets_nothing() -> None:
    """DNS rebinding: the browser believes that it talks to the attacker's site."""
    pages = HostilePages()
    names = ("localhost", "::1", "[::1]")
    refused = await ask(pages, "/", host="evil.example", allowed_hosts=names)
    assert refused.status == 400
    assert pages.asked == []
    assert (await ask(pages, "/", host="localhost:8080", allowed_hosts=names)).status == 200
    assert (await ask(pages, "/", host="[::1]:8080", allowed_hosts=names)).status == 200


async def test_the_stylesheet_is_ours() -> None:
    answer = await ask(HostilePages(), "/console.css")
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "prefers-color-scheme: dark" in answer.text
    assert "http" not in answer.text
