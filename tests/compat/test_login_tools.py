"""Java's clients log in to our broker, by Kafka's own tools: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from millstream.security.jaas import MODULES
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER, SaslNode, sasl_node

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
TOPICS = "org.apache.kafka.tools.TopicCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no java"),
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslNode]:
    with sasl_node(tmp_path_factory.mktemp("node")) as running:
        yield running


def run(
    directory: Path,
    mechanism: str,
    options: str,
    *command: str,
    more: Mapping[str, str] | None = None,
    system: tuple[str, ...] = (),
) -> str:
    """What a tool says that logs in with these options of a login module, errors too."""
    config = directory / "client.properties"
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{MODULES[mechanism]} required {options};",
        **(more or {}),
    }
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", *system, "-cp", CLASSPATH, *command, "--command-config", str(config)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def password(name: str = USER, word: str = PASSWORD) -> str:
    return f'username="{name}" password="{word}"'


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
def test_a_password_lets_in_and_another_does_not(
    node: SaslNode, tmp_path: Path, mechanism: str
) -> None:
    topic = f"of-{mechanism.lower()}"
    where = ("--bootstrap-server", node.bootstrap)
    made = run(tmp_path, mechanism, password(), TOPICS, *where, "--create", "--topic", topic)
    assert f"Created topic {topic}" in made
    wrong = run(tmp_path, mechanism, password(word="wrong"), TOPICS, *where, "--list")
    assert "SaslAuthenticationException: Authentication failed" in wrong


def test_users_are_made_by_kafka_configs(node: SaslNode, tmp_path: Path) -> None:
    where = ("--bootstrap-server", node.bootstrap)
    change = "SCRAM-SHA-512=[iterations=8192,password=rabbit]"
    said = run(
        tmp_path, "PLAIN", password(), "kafka.admin.ConfigCommand", *where,
        "--alter", "--entity-type", "users", "--entity-name", "carol", "--add-config", change,
    )  # fmt: skip
    assert "Completed updating config for user carol" in said
    listed = run(tmp_path, "SCRAM-SHA-512", password("carol", "rabbit"), TOPICS, *where, "--list")
    assert "Exception" not in listed


def test_a_delegation_token_lets_in(node: SaslNode, tmp_path: Path) -> None:
    where = ("--bootstrap-server", node.bootstrap)
    said = run(
        tmp_path, "PLAIN", password(), TOKENS, *where,
        "--create", "--max-life-time-period", "600000", "--renewer-principal", "User:alice",
    )  # fmt: skip
    found = re.search(r"^(\S{20,})\s+(\S{40,}==)\s+User:alice", said, re.MULTILINE)
    assert found is not None, said
    options = f'username="{found[1]}" password="{found[2]}" tokenauth="true"'
    listed = run(tmp_path, "SCRAM-SHA-256", options, TOPICS, *where, "--list")
    assert "Exception" not in listed


@pytest.mark.parametrize(("audience", "is_let_in"), [("kafka", True), ("somebody", False)])
def test_a_bearer_token_lets_in_and_another_does_not(
    node: SaslNode, tmp_path: Path, audience: str, is_let_in: bool
) -> None:
    file = tmp_path / "token"
    file.write_text(node.issuer.token(aud=audience))
    said = run(
        tmp_path, "OAUTHBEARER", "", TOPICS, "--bootstrap-server", node.bootstrap, "--list",
        more={
            "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": file.as_uri(),
        },
        system=(f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={file.as_uri()}", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={file}"),
    )  # fmt: skip
    assert ("Exception" not in said) == is_let_in, said
    assert ("invalid_token" in said) != is_let_in
