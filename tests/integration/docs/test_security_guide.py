"""The guide to security is true: its commands do what it says, its settings start nodes, and its Python blocks run over them."""

from __future__ import annotations

import asyncio
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main
from millstream.cli.storage.command import storage
from millstream.clients import Admin
from millstream.errors import SaslAuthenticationFailed
from millstream.properties_text import parse_properties
from millstream.testing import Broker
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S
from tests.support.sasl_node import free_ports

GUIDE = (Path(__file__).resolve().parents[3] / "docs/guide/security.md").read_text()
FILES = re.findall(r"cat > server.properties <<'END'\n(.*?)END\n", GUIDE, re.DOTALL)
FORMAT = re.findall(r"millstream storage format (.*)\n", GUIDE)
SECTIONS = {each.partition("\n")[0]: each for each in GUIDE.split("\n## ")}
FIVE_MINUTES = SECTIONS["From nothing to TLS, logins and rules in five minutes"]
VERBS = SECTIONS["Users, rules, tokens, quotas"]
OWN_SETTINGS = SECTIONS["A login with settings of your own"]
DENIED = "acls explain"
"""What the guide asks before it is allowed."""


def settings_of(text: str, directory: Path) -> dict[str, str]:
    for name, port in free_ports("9092", "9093"):
        text = text.replace(f"127.0.0.1:{name}", f"127.0.0.1:{port}")
    return {**parse_properties(text), "log.dirs": str(directory / "data")}


def commands(section: str) -> list[str]:
    """Lines with `millstream` but those that start a server, which the test does itself."""
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "millstream " in line]
    return [line for line in lines if " server " not in line and not line.startswith("pip ")]


def done(line: str) -> Result:
    """Runs a line of the guide: `millstream ...`, or a word that is piped into it."""
    given, _, command = line.rpartition(" | ")
    word = given.removeprefix("echo ")
    return CliRunner().invoke(main, shlex.split(command)[1:], input=f"{word}\n" if word else "")


def run_python(section: str, bootstrap: str | None = None) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    source = "async def main():\n" + textwrap.indent(block, "    ")
    names: dict[str, Any] = {}
    exec(source if bootstrap is None else source.replace("127.0.0.1:9092", bootstrap), names)
    asyncio.run(names["main"]())


def test_from_nothing_to_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "millstream server --secure --data ./millstream-data" in FIVE_MINUTES
    monkeypatch.chdir(tmp_path)
    with Broker(secure=True, data=tmp_path / "millstream-data"):
        said = {}
        for line in (*commands(FIVE_MINUTES), *commands(VERBS)):
            result = said[line] = done(line)
            assert result.exit_code == (1 if DENIED in line else 0), (line, result.output)
        assert any("hello" in result.output for line, result in said.items() if "consume" in line)
        assert len(said) == 10
        run_python(FIVE_MINUTES)


def test_the_first_login(tmp_path: Path) -> None:
    node = ThreadNode(settings_of(FILES[0], tmp_path))
    bootstrap = node.start(LONG_ENOUGH_S).bootstrap
    try:
        run_python(OWN_SETTINGS, bootstrap)
    finally:
        node.stop()


def test_a_first_user_of_scram(tmp_path: Path) -> None:
    settings = settings_of(FILES[1], tmp_path)
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    cluster_id = CliRunner().invoke(storage, ["random-uuid"]).output.strip()
    line = FORMAT[0].replace("$(millstream storage random-uuid)", cluster_id)
    arguments = [part.strip("'") for part in line.replace("server.properties", str(file)).split()]
    formatted = CliRunner().invoke(storage, ["format", *arguments])
    assert formatted.exit_code == 0, formatted.output
    written = [each for each in (tmp_path / "data").rglob("*") if each.is_file()]
    assert written
    assert {each.stat().st_mode & 0o077 for each in written} == {0}, "the key of a user is in one"
    node = ThreadNode(settings)
    bootstrap = node.start(LONG_ENOUGH_S).bootstrap

    async def topics(password: str) -> object:
        async with Admin(
            bootstrap_servers=bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="admin",
            sasl_password=password,
        ) as admin:
            return await admin.list_topics()

    try:
        asyncio.run(topics("secret"))
        with pytest.raises(SaslAuthenticationFailed):
            asyncio.run(topics("guess"))
    finally:
        node.stop()
