"""The guide to security is true: its settings start nodes, and its Python block runs over the first of them."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.storage.command import storage
from millstream.clients import Admin
from millstream.errors import SaslAuthenticationFailed
from millstream.properties_text import parse_properties
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S
from tests.support.sasl_node import free_ports

GUIDE = (Path(__file__).resolve().parents[3] / "docs/guide/security.md").read_text()
FILES = re.findall(r"cat > server.properties <<'END'\n(.*?)END\n", GUIDE, re.DOTALL)
FORMAT = re.findall(r"millstream storage format (.*)\n", GUIDE)


def settings_of(text: str, directory: Path) -> dict[str, str]:
    for name, port in free_ports("9092", "9093"):
        text = text.replace(f"127.0.0.1:{name}", f"127.0.0.1:{port}")
    return {**parse_properties(text), "log.dirs": str(directory / "data")}


def test_the_first_login(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    node = ThreadNode(settings_of(FILES[0], tmp_path))
    bootstrap = node.start(LONG_ENOUGH_S).bootstrap
    try:
        source = "async def main():\n" + textwrap.indent(block, "    ")
        names: dict[str, Any] = {}
        exec(source.replace("127.0.0.1:9092", bootstrap), names)
        asyncio.run(names["main"]())
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
