"""The console before a cluster with logins and access rules, over TLS: each user sees what the cluster lets it see."""

from __future__ import annotations

import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest

from millstream.clients.admin import (
    AclBinding,
    NewTopic,
    Operation,
    ResourceType,
    UpsertScramCredential,
)
from millstream.clients.blocking import Admin, Producer
from millstream.security.scram import ScramMechanism
from tests.integration.clients.security.certificates import Authority
from tests.integration.console.test_console import Answer, running_console
from tests.patience import LONG_ENOUGH_S
from tests.support.sasl_node import PASSWORD, USER, SaslNode, sasl_node

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
READER, READERS_PASSWORD = "bob", "builder"


@dataclass
class Person:
    """A browser with its cookies, on a machine that believes the authority of the console."""

    url: str
    context: ssl.SSLContext
    cookies: CookieJar = field(default_factory=CookieJar)

    def ask(self, path: str, fields: dict[str, str] | None = None) -> Answer:
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self.context),
            urllib.request.HTTPCookieProcessor(self.cookies),
        )
        data = None if fields is None else urlencode(fields).encode()
        try:
            with opener.open(f"{self.url}{path}", data, LONG_ENOUGH_S) as response:
                return Answer(response.status, dict(response.headers), response.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read().decode())

    def log_in(self, user: str, password: str) -> Answer:
        token = token_of(self.ask("/login"))
        return self.ask("/login", {"token": token, "user": user, "password": password})


def token_of(answer: Answer) -> str:
    found = re.search(r'name="token" value="([^"]*)"', answer.text)
    assert found is not None, answer.text
    return found[1]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    rules = {
        "authorizer.class.name": AUTHORIZER,
        "super.users": f"User:ANONYMOUS;User:{USER}",
    }
    with (
        sasl_node(tmp_path_factory.mktemp("node"), rules) as node,
        Admin(bootstrap_servers=node.open_bootstrap) as admin,
        Producer(bootstrap_servers=node.open_bootstrap) as producer,
    ):
        credential = UpsertScramCredential(
            READER, ScramMechanism.SCRAM_SHA_512, READERS_PASSWORD, 4096
        )
        admin.alter_user_scram_credentials([credential]).raise_errors()
        admin.create_topics([NewTopic("mine", 1), NewTopic("theirs", 1)]).raise_errors()
        rule = AclBinding(
            resource_type=ResourceType.TOPIC,
            resource_name="mine",
            principal=f"User:{READER}",
            operation=Operation.READ,
        )
        admin.create_acls([rule]).raise_errors()
        for topic in ("mine", "theirs"):
            producer.send(topic, b"a record")
        producer.flush()
        yield node


@pytest.fixture
def person(node: SaslNode, tmp_path: Path) -> Iterator[Person]:
    authority = Authority(tmp_path)
    context = ssl.create_default_context(cafile=authority.path)
    options = (
        "-b", node.bootstrap, "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-512",
        "--admin", USER, "--tls", str(authority.issue("pages")),
    )  # fmt: skip
    with running_console(*options, scheme="https") as url:
        yield Person(url, context)


def test_each_user_sees_and_changes_what_the_cluster_and_its_role_allow(person: Person) -> None:
    assert person.ask("/overview.json").status == 401
    assert 'action="/login"' in person.ask("/topics").text
    wrong = person.log_in(READER, "x")
    assert wrong.status == 401
    assert "The cluster knows no such user and password." in wrong.text

    assert "<b>bob</b>" in person.log_in(READER, READERS_PASSWORD).text
    topics = person.ask("/topics.json").json["topics"]
    assert [each["name"] for each in topics] == ["mine"]
    records = person.ask("/topic.json?name=mine").json["records"]["records"]
    assert [each["value"]["text"] for each in records] == ["a record"]
    assert person.ask("/topic.json?name=theirs").status == 403
    for path in ("/", "/brokers", "/topics", "/topic?name=mine", "/groups"):
        assert person.ask(path).status == 200, path
    token = token_of(person.ask("/topics"))
    gone = {"token": token, "name": "mine", "confirmed": "mine"}
    assert person.ask("/topic/delete", gone).status == 403
    assert 'action="/login"' in person.ask("/logout", {"token": token}).text

    person.log_in(USER, PASSWORD)
    token = token_of(person.ask("/topics"))
    made = person.ask("/topic/create", {"token": token, "name": "made", "partitions": "2"})
    assert made.status == 200
    assert "2 partitions" in made.text
    person.ask("/topic/delete", {"token": token, "name": "made", "confirmed": "made"})
    assert person.ask("/topic?name=made").status == 404


def test_a_console_with_tls_says_nothing_in_clear(person: Person) -> None:
    with pytest.raises((urllib.error.URLError, ConnectionError, OSError)):
        urllib.request.urlopen(person.url.replace("https", "http"), timeout=LONG_ENOUGH_S)
