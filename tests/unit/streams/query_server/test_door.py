"""Who may ask a query server: reading state needs a right, and nothing is open by accident."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from millstream.errors import ConfigError
from millstream.streams.query_server import QueryServer, QueryTls, forwarding
from millstream.streams.query_server.application import create_query_application
from millstream.streams.query_server.door import check_door, check_token
from millstream.streams.query_server.forwarding import FORWARDED, HttpForwarder
from tests.unit.streams.query_server.two_instances import HOSTS, Instances, called

TOKEN = "the-token-of-this-application"
PATHS = ["/stores/rows/keys/a", "/stores/rows/rows", "/dropped", "/elsewhere"]


@pytest.fixture
def instances() -> Iterator[Instances]:
    instances = Instances()
    instances.pipe("in", "a", "x", at=0)
    yield instances
    instances.close()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN.upper()}",
        "Bearer \u00e9",
    ],
)
async def test_without_the_token_nothing_is_answered(
    instances: Instances, path: str, shown: str | None
) -> None:
    web = create_query_application(instances.each[0], forwarder=instances, token=TOKEN)
    headers = {} if shown is None else {"authorization": shown}
    status, told, body = await called(web, path, headers=headers)
    assert (status, told["www-authenticate"]) == (401, "Bearer")
    assert orjson.loads(body)["message"].startswith("show the token")


async def test_to_say_that_one_is_an_instance_is_not_enough(instances: Instances) -> None:
    web = create_query_application(instances.each[0], forwarder=instances, token=TOKEN)
    assert (await called(web, "/stores/rows/rows", headers={FORWARDED.lower(): "1"}))[0] == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
async def test_who_has_the_token_is_answered(instances: Instances, scheme: str) -> None:
    web = create_query_application(instances.each[0], forwarder=instances, token=TOKEN)
    headers = {"authorization": f"{scheme} {TOKEN}"}
    status, _, body = await called(web, "/stores/rows/keys/a", headers=headers)
    assert (status, orjson.loads(body)["value"]) == (200, 1)


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:7000", 200), ("zero:7000", 200), ("evil.example:7000", 400)]
)
async def test_a_page_of_another_site_cannot_have_its_name_resolve_here(
    instances: Instances, host: str, status: int
) -> None:
    """DNS rebinding: its script would read the stores in the browser of a developer."""
    names = ("localhost", "127.0.0.1", "zero")
    web = create_query_application(instances.each[0], forwarder=instances, allowed_hosts=names)
    assert (await called(web, "/stores/rows/rows", headers={"host": host}))[0] == status


def test_instances_show_each_other_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    class Connection:
        def __init__(self, host: str, port: int, *, timeout: float) -> None:
            assert (host, port, timeout > 0) == (HOSTS[1].host, HOSTS[1].port, True)

        def request(self, _method: str, _path: str, *, headers: dict[str, str]) -> None:
            asked.append(headers)
            raise OSError("nobody is there")

        def close(self) -> None:
            """Ends."""

    monkeypatch.setattr(forwarding, "HTTPConnection", Connection)
    for token in (TOKEN, None):
        with pytest.raises(forwarding.HostUnavailable):
            HttpForwarder(token=token)._ask(HOSTS[1], "/")
    assert [each.get("Authorization") for each in asked] == [f"Bearer {TOKEN}", None]


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.9", "shop1.example", "::"])
def test_a_server_that_others_reach_is_guarded_or_open_on_purpose(host: str) -> None:
    with pytest.raises(ConfigError, match="could be asked by whoever reaches it"):
        check_door(host, token=None, tls=None, open_to_all=False)
    one_sided = QueryTls(keystore_location="node.pem")
    with pytest.raises(ConfigError, match="could be asked by whoever reaches it"):
        check_door(host, token=None, tls=one_sided, open_to_all=False)
    mutual = QueryTls(keystore_location="node.pem", truststore_location="authorities.pem")
    check_door(host, token=None, tls=mutual, open_to_all=False)
    check_door(host, token=TOKEN, tls=None, open_to_all=False)
    check_door(host, token=None, tls=None, open_to_all=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_server_of_this_machine_needs_nothing_but_no_token_that_can_be_guessed(host: str) -> None:
    check_door(host, token=None, tls=None, open_to_all=False)
    with pytest.raises(ConfigError, match="at least 16 characters"):
        check_door(host, token="secret", tls=None, open_to_all=False)


@pytest.mark.parametrize(
    "token",
    ["", "secret", "x" * 15, f"{TOKEN}\n", f"{TOKEN}\r", f" {TOKEN}", "with blanks in between", f"{TOKEN}é", f"{TOKEN}\x7f"],
)  # fmt: skip
def test_a_token_that_can_be_guessed_or_that_nobody_could_show_is_refused(
    instances: Instances, token: str
) -> None:
    with pytest.raises(ConfigError, match=r"at least 16 characters, all of them printable ASCII"):
        check_door("0.0.0.0", token=token, tls=None, open_to_all=True)
    with pytest.raises(ConfigError, match=r"at least 16 characters, all of them printable ASCII"):
        create_query_application(instances.each[0], forwarder=instances, token=token)


def test_the_shortest_token_is_one() -> None:
    with pytest.raises(ConfigError, match="16 characters"):
        check_token("x" * 15)
    check_token("x" * 16)


def test_the_server_itself_looks_at_its_address(instances: Instances) -> None:
    with pytest.raises(ConfigError, match="the query server at zero could be asked"):
        QueryServer(instances.each[0])
    with pytest.raises(ConfigError, match=r"the query server at \* could be asked"):
        QueryServer(instances.each[0], host="")
