"""Logging in and out, as browsers and as those who attack them see it."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote

import pytest

from millstream.console.entrance import forms
from millstream.console.entrance.failed_logins import FREE, USER_WAIT_MAX_MS
from millstream.console.entrance.logins import LOGINS_AT_ONCE_MAX
from millstream.console.entrance.sessions import (
    IDLE_MS,
    LIFETIME_MS,
    SESSIONS_OF_USER_MAX,
)
from millstream.errors import (
    BrokerNotAvailable,
    MillstreamError,
    NetworkException,
    RequestTimedOut,
    SaslAuthenticationFailed,
)
from millstream.net.client.tasks import ClientClosed
from tests.unit.console.entrance.browser import Answer, Browser
from tests.unit.console.entrance.cluster import Cluster, PagesOf


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def browser(cluster: Cluster) -> Browser:
    return Browser(cluster.application)


async def log_in(
    browser: Browser, user: str = "alice", password: str = "wonder", onward: str = "/"
) -> Answer:
    form = await browser.get(f"/login?next={quote(onward, safe='')}")
    if form.status != 200:
        return form
    return await browser.post(
        "/login", {"token": form.token, "user": user, "password": password, "next": onward}
    )


async def test_who_has_not_logged_in_is_led_to_the_form_and_from_there_to_the_page(
    cluster: Cluster, browser: Browser
) -> None:
    answer = await browser.get("/topics?filter=a&page=2")
    assert (answer.status, answer.header("location")) == (
        303,
        "/login?next=%2Ftopics%3Ffilter%3Da%26page%3D2",
    )
    form = await browser.get(str(answer.header("location")))
    assert 'name="next" value="/topics?filter=a&amp;page=2"' in form.text
    answer = await log_in(browser, onward="/topics?filter=a&page=2")
    assert (answer.status, answer.header("location")) == (303, "/topics?filter=a&page=2")
    page = await browser.get("/")
    assert page.status == 200
    assert "<b>alice</b>" in page.text
    assert [each.user for each in cluster.opened] == ["alice"]


@pytest.mark.parametrize(
    "address",
    ["/", "/brokers", "/topics", "/topic?name=x", "/groups", "/group?id=x", "/overview.json"],
)
async def test_no_page_is_shown_without_a_login(
    cluster: Cluster, browser: Browser, address: str
) -> None:
    program = await browser.get(address, accept="application/json")
    assert (program.status, '"Log in first."' in program.text) == (401, True)
    assert (await browser.get(address)).status in {303, 401}
    assert cluster.opened == []


async def test_the_cookie_is_for_this_console_alone(browser: Browser) -> None:
    await log_in(browser)
    for cookie, name in zip(
        browser.set_cookies, ("__Host-millstream-form", "__Host-millstream"), strict=True
    ):
        assert cookie.startswith(f"{name}=")
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert parts == {"httponly", "path=/", "samesite=strict", "secure"}


async def test_without_tls_the_cookie_can_be_kept(cluster: Cluster) -> None:
    browser = Browser(Cluster(has_tls=False).application)
    await log_in(browser)
    assert browser.set_cookies[-1].startswith("millstream=")
    assert "secure" not in browser.set_cookies[-1].lower()


async def test_a_login_has_another_cookie_than_the_form_so_that_a_planted_one_is_worth_nothing(
    cluster: Cluster, browser: Browser
) -> None:
    await browser.get("/login")
    ((_, planted),) = browser.cookies.items()
    await log_in(browser)
    session = browser.cookies["__Host-millstream"]
    assert session != planted
    for name in ("__Host-millstream", "__Host-millstream-form"):
        assert (await Browser(cluster.application, {name: planted}).get("/")).status == 303
    assert (
        await Browser(cluster.application, {"__Host-millstream-form": session}).get("/")
    ).status == 303


async def test_the_form_leaves_a_session_that_it_was_not_shown(
    cluster: Cluster, browser: Browser
) -> None:
    """A link on another site leads to it without the cookies that there are (SameSite=Strict), and the browser keeps what it sets."""
    await log_in(browser)
    linked = Browser(cluster.application)
    assert (await linked.get("/login")).status == 200
    assert list(linked.cookies) == ["__Host-millstream-form"]
    browser.cookies |= linked.cookies
    assert (await browser.get("/")).status == 200


async def test_a_login_ends_the_session_that_the_browser_had(
    cluster: Cluster, browser: Browser
) -> None:
    form = await browser.get("/login")
    fields = {"token": form.token, "user": "alice", "password": "wonder"}
    assert (await browser.post("/login", fields)).status == 303
    before = dict(browser.cookies)
    assert (
        await browser.post("/login", fields | {"user": "bob", "password": "builder"})
    ).status == 303
    assert cluster.opened[0].is_closed
    assert (await Browser(cluster.application, before).get("/")).status == 303


@pytest.mark.parametrize("change", ["id", "signature", "none", "long", "form token"])
async def test_a_cookie_that_is_not_signed_by_this_console_is_none(
    cluster: Cluster, browser: Browser, change: str
) -> None:
    await log_in(browser)
    page = await browser.get("/")
    name = "__Host-millstream"
    cookie = browser.cookies[name]
    browser_id, signature = cookie.split(".")
    forged = {
        "id": f"{browser_id}x.{signature}",
        "signature": f"{browser_id}.{signature[:-1]}{'0' if signature[-1] != '0' else '1'}",
        "none": browser_id,
        "long": f"{browser_id}.{signature}{'a' * 10_000}",
        "form token": f"{browser_id}.{page.token}",
    }[change]
    other = Browser(cluster.application, cookies={name: forged})
    assert (await other.get("/")).status == 303


async def test_a_wrong_password_is_told_in_one_sentence_and_an_unknown_user_in_the_same(
    cluster: Cluster, browser: Browser
) -> None:
    wrong = await log_in(browser, password="x")
    unknown = await log_in(browser, user="nobody")
    for answer in (wrong, unknown):
        assert answer.status == 401
        assert "The cluster knows no such user and password." in answer.text
    assert (await browser.get("/")).status == 303
    assert cluster.opened == []


async def test_what_was_typed_is_shown_again_without_the_password_and_never_as_markup(
    browser: Browser,
) -> None:
    answer = await log_in(browser, user='"><script>alert(1)</script>', password="wonder-land")
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert "wonder-land" not in answer.text


async def test_who_guesses_has_to_wait_and_nobody_is_asked_meanwhile(
    cluster: Cluster, browser: Browser
) -> None:
    for _ in range(FREE):
        assert (await log_in(browser, password="guess")).status == 401
    answer = await log_in(browser, password="wonder")
    assert (answer.status, answer.header("retry-after")) == (429, "1")
    assert "try again in 1 s" in answer.text
    assert cluster.asked == FREE
    cluster.time.ms += 1000
    assert (await log_in(browser, password="wonder")).status == 303


async def test_a_form_of_another_browser_logs_nobody_in(cluster: Cluster, browser: Browser) -> None:
    """Login CSRF: an attacker has the victim log in as the attacker, and reads what it does."""
    token = (await Browser(cluster.application).get("/login")).token
    await browser.get("/login")
    fields = {"user": "alice", "password": "wonder", "next": "/"}
    for shown in (token, "", "0" * 64):
        assert (await browser.post("/login", fields | {"token": shown})).status == 403
    fresh = Browser(cluster.application)
    assert (await fresh.post("/login", fields | {"token": token})).status == 403
    assert cluster.asked == 0


@pytest.mark.parametrize(
    ("site", "headers", "status"),
    [
        ("same-origin", {}, 303),
        ("cross-site", {}, 403),
        ("same-site", {}, 403),
        ("none", {}, 403),
        (None, {"origin": "https://console.example"}, 303),
        (None, {"origin": "https://evil.example"}, 403),
        (None, {"origin": "https://console.example.evil.example"}, 403),
        (None, {"origin": "null"}, 403),
        (None, {}, 303),
        ("cross-site", {"origin": "https://console.example"}, 403),
    ],
)
async def test_a_form_that_a_page_of_another_site_sends_is_refused(
    browser: Browser, site: str | None, headers: dict[str, str], status: int
) -> None:
    token = (await browser.get("/login")).token
    browser.site = site
    fields = {"token": token, "user": "alice", "password": "wonder"}
    assert (await browser.post("/login", fields, **headers)).status == status


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/nosuch",
        "/logout",
        "/topics?x=\r\nSet-Cookie: a=b",
        "http:/topics",
        "https://[evil",
        "",
    ],
)
async def test_a_login_leads_to_no_other_place_than_a_page(browser: Browser, onward: str) -> None:
    assert (await log_in(browser, onward=onward)).header("location") == "/"


async def test_who_logs_out_is_out_and_the_clients_are_closed(
    cluster: Cluster, browser: Browser
) -> None:
    await log_in(browser)
    page = await browser.get("/")
    stolen = Browser(cluster.application, cookies=dict(browser.cookies))
    answer = await browser.post("/logout", {"token": page.token})
    assert (answer.status, answer.header("location")) == (303, "/login")
    assert list(browser.cookies) == ["__Host-millstream-form"]
    assert (await stolen.get("/")).status == 303
    assert cluster.opened[0].is_closed


async def test_nobody_else_logs_a_user_out(cluster: Cluster, browser: Browser) -> None:
    await log_in(browser)
    for token in ("", "0" * 64):
        assert (await browser.post("/logout", {"token": token})).status == 403
    assert (await browser.get("/logout")).status == 405
    assert (await browser.get("/")).status == 200


async def test_a_session_ends_when_it_is_not_used_and_after_half_a_day(
    cluster: Cluster, browser: Browser
) -> None:
    await log_in(browser)
    cluster.time.ms += IDLE_MS - 1
    assert (await browser.get("/")).status == 200
    cluster.time.ms += IDLE_MS
    assert (await browser.get("/")).status == 303
    await log_in(browser)
    for _ in range(LIFETIME_MS // (IDLE_MS - 1)):
        cluster.time.ms += IDLE_MS - 1
        assert (await browser.get("/")).status == 200
    cluster.time.ms += IDLE_MS - 1
    assert (await browser.get("/")).status == 303


async def test_a_user_whose_password_was_changed_is_out_with_the_next_page(
    cluster: Cluster, browser: Browser
) -> None:
    await log_in(browser)
    cluster.removed.add("alice")
    assert (await browser.get("/")).header("location") == "/login?next=%2F"
    assert cluster.opened[0].is_closed
    cluster.removed.clear()
    assert (await browser.get("/")).status == 303


@pytest.mark.parametrize("error", [SaslAuthenticationFailed("refused"), ClientClosed("closed")])
async def test_a_page_whose_session_ends_meanwhile_leads_to_the_form(
    cluster: Cluster, browser: Browser, monkeypatch: pytest.MonkeyPatch, error: MillstreamError
) -> None:
    await log_in(browser)
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def overview(_: object) -> None:
        is_asked.set()
        await may_answer.wait()
        raise error

    monkeypatch.setattr(PagesOf, "overview", overview)
    loading = asyncio.create_task(browser.get("/"))
    await is_asked.wait()
    token = (await browser.get("/topics")).token
    other = Browser(cluster.application, dict(browser.cookies))
    assert (await other.post("/logout", {"token": token})).status == 303
    may_answer.set()
    answer = await loading
    assert (answer.status, answer.header("location")) == (303, "/login?next=%2F")


async def test_a_user_has_so_many_sessions_and_the_one_not_used_for_the_longest_time_ends(
    cluster: Cluster,
) -> None:
    browsers = [Browser(cluster.application) for _ in range(SESSIONS_OF_USER_MAX + 1)]
    for browser in browsers[:-1]:
        await log_in(browser)
    await browsers[0].get("/")
    await log_in(browsers[-1])
    alive = [(await browser.get("/")).status == 200 for browser in browsers]
    assert alive == [True, False, True, True, True]
    assert [each.is_closed for each in cluster.opened] == [False, True, False, False, False]


async def test_a_browser_that_logs_in_again_ends_its_own_session_and_no_other(
    cluster: Cluster,
) -> None:
    browsers = [Browser(cluster.application) for _ in range(SESSIONS_OF_USER_MAX)]
    forms = [await browser.get("/login") for browser in browsers]
    fields = {"user": "alice", "password": "wonder"}
    for browser, form in zip(browsers, forms, strict=True):
        await browser.post("/login", {"token": form.token, **fields})
    await browsers[-1].post("/login", {"token": forms[-1].token, **fields})
    assert [(await browser.get("/")).status for browser in browsers] == [200] * len(browsers)
    assert [each.is_closed for each in cluster.opened] == [False, False, False, True, False]


async def test_only_so_many_are_asked_about_at_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, are_all_there = asyncio.Event(), asyncio.Barrier(LOGINS_AT_ONCE_MAX + 1)

    async def slowly(user: str, _password: str) -> PagesOf:
        await are_all_there.wait()
        await answered.wait()
        return PagesOf(user, cluster)

    monkeypatch.setattr(cluster, "log_in", slowly)
    browsers = [
        Browser(cluster.application, address=f"10.0.0.{number}")
        for number in range(LOGINS_AT_ONCE_MAX)
    ]
    async with asyncio.TaskGroup() as tasks:
        under_way = [
            tasks.create_task(log_in(browser, user=f"user-{number}"))
            for number, browser in enumerate(browsers)
        ]
        await are_all_there.wait()
        late = await log_in(Browser(cluster.application))
        answered.set()
    assert late.status == 503
    assert {each.result().status for each in under_way} == {303}


async def test_a_form_is_bounded_and_nothing_but_a_form(cluster: Cluster, browser: Browser) -> None:
    head = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    pieces = [b"a" * 4096] * 3
    assert (await browser.send("POST", "/login", head, pieces)).status == 413
    many = [b"&".join(b"a%d=1" % number for number in range(100))]
    assert (await browser.send("POST", "/login", head, many)).status == 400
    assert (await browser.send("POST", "/login", head, [b"\xff\xfe"])).status == 400
    plain = head | {"content-type": "text/plain"}
    assert (await browser.send("POST", "/login", plain, [b"token=1"])).status == 415
    assert cluster.asked == 0


async def test_a_form_that_trickles_is_not_waited_for(
    cluster: Cluster, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "FORM_TIMEOUT_S", 0)
    token = (await browser.get("/login")).token
    never = asyncio.Event()

    async def trickling(_scope: object, _receive: object, send: object) -> None:
        async def receive() -> dict[str, object]:
            await never.wait()
            raise AssertionError

        await cluster.application(_scope, receive, send)

    slow = Browser(trickling, cookies=dict(browser.cookies))
    assert (await slow.post("/login", {"token": token})).status == 408


async def test_the_log_says_who_came_and_who_did_not_and_no_password(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await log_in(browser, user="eve\nuser alice logged in", password="guess-this")
        await log_in(browser)
        page = await browser.get("/")
        await browser.post("/logout", {"token": page.token})
    told = [each.getMessage() for each in caplog.records if each.name == "millstream.console"]
    assert told == [
        r"login of user 'eve\nuser alice logged in' from 10.0.0.9 was refused",
        "user 'alice' logged in from 10.0.0.9 as admin",
        "user 'alice' logged out from 10.0.0.9",
    ]
    assert "guess-this" not in caplog.text
    assert "wonder" not in caplog.text.replace("alice", "")


async def test_clients_that_cannot_be_closed_keep_nobody_from_leaving(
    cluster: Cluster, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_pages: PagesOf) -> None:
        raise RuntimeError("a background task failed")

    await log_in(browser)
    monkeypatch.setattr(PagesOf, "close", broken)
    page = await browser.get("/")
    assert (await browser.post("/logout", {"token": page.token})).status == 303
    assert (await browser.get("/")).status == 303
    await cluster.logins.close()


async def test_logins_that_nobody_looks_at_have_a_line_a_second(
    cluster: Cluster, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(FREE):
        await log_in(browser, password="guess")
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert (await log_in(browser, password="guess")).status == 429
        await Browser(cluster.application, address="10.0.0.8").post("/login", {"user": "bob"})
        browser.site = "cross-site"
        cluster.time.ms += 1_000
        await browser.post("/login", {})
    assert caplog.messages == [
        "login of user 'alice' from 10.0.0.9 was refused: Too many logins have failed: try again in 1 s.",
        "login of user 'bob' from 10.0.0.8 was refused: The form was too old, or this browser keeps no cookies: try again.",
        "form '/login' from 10.0.0.9 was refused: This form was sent by a page of another site. (2 more from there before)",
    ]


@pytest.mark.parametrize(
    ("error", "is_counted"),
    [
        (BrokerNotAvailable("every address refuses"), False),
        (RequestTimedOut("no answer"), True),
        (NetworkException("the connection was lost"), True),
    ],
)
async def test_a_login_counts_unless_nobody_can_have_looked_at_the_password(
    cluster: Cluster,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    error: MillstreamError,
    *,
    is_counted: bool,
) -> None:
    async def unanswered(_user: str, _password: str) -> PagesOf:
        raise error

    for _ in range(FREE - 1):
        await log_in(browser, password="guess")
    with monkeypatch.context() as patched:
        patched.setattr(cluster, "log_in", unanswered)
        assert (await log_in(browser)).status == 503
    assert (await log_in(browser, password="guess")).status == (429 if is_counted else 401)
    assert (await log_in(browser, password="guess")).status == 429, "those before count on"


async def test_behind_a_proxy_who_guesses_keeps_nobody_out(browser: Browser) -> None:
    """All come from its address."""
    cluster = Cluster(is_behind_proxy=True)
    for number in range(20):
        await log_in(Browser(cluster.application), user=f"user-{number}", password="guess")
        cluster.time.ms += USER_WAIT_MAX_MS
    await log_in(Browser(cluster.application), user="eve", password="guess")
    answer = await log_in(Browser(cluster.application))
    assert (answer.status, answer.header("retry-after")) == (429, str(USER_WAIT_MAX_MS // 1_000))
