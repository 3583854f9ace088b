"""`millstream certs dev`: what it makes is readable for its owner alone, and a node and a client work with it as it is."""

from __future__ import annotations

import builtins
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.certs.command import certs
from millstream.cli.main import main
from millstream.clients.blocking import Admin
from millstream.properties_text import parse_properties
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_S

FILES = {
    "authority.pem", "authority.key.pem", "node.pem", "client.pem", "server.properties", "client.properties",
}  # fmt: skip


def made(directory: Path, *arguments: str) -> str:
    result = CliRunner().invoke(certs, ["dev", str(directory), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_all_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "certs"
    made(directory)
    assert {each.name for each in directory.iterdir()} == FILES
    assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "client.pem").write_text("mine")
    result = CliRunner().invoke(certs, ["dev", str(tmp_path)])
    assert result.exit_code == 1
    assert "client.pem is there already: give another directory, or remove it" in result.output
    assert [each.name for each in tmp_path.iterdir()] == ["client.pem"]


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(certs, ["dev", str(tmp_path), "--host", "bücher.example"])
    assert result.exit_code == 1
    assert result.output.startswith("millstream certs: ")
    assert not list(tmp_path.iterdir())


def test_without_cryptography_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(
        name: str, *arguments: Any, **named: Any
    ) -> Any:  # Any: what the import system passes
        if name == "millstream.cli.certs.issuing":
            raise ModuleNotFoundError(name="cryptography")
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    result = CliRunner().invoke(certs, ["dev", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output == (
        "millstream certs: making certificates needs cryptography, which is not installed: pip install 'millstream[tls]'\n"
    )


def test_a_node_and_a_client_work_with_them(tmp_path: Path) -> None:
    """As the guide says: the client is User:client by the rule in the file."""
    made(tmp_path, "--host", "node.example")
    settings = parse_properties((tmp_path / "server.properties").read_text())
    checked = CliRunner().invoke(main, ["config", "check", str(tmp_path / "server.properties")])
    assert checked.exit_code == 0, checked.output
    node = ThreadNode(
        settings
        | {
            "listeners": "SSL://localhost:0",
            "log.dirs": str(tmp_path / "data"),
            "delegation.token.secret.key": "master",
        }
    )
    bootstrap = node.start(LONG_ENOUGH_S).bootstrap
    try:
        client = parse_properties((tmp_path / "client.properties").read_text())
        given = {key.replace(".", "_"): value for key, value in client.items()}
        with Admin(**given | {"bootstrap_servers": bootstrap}) as admin:  # type: ignore[arg-type]  # all are texts
            assert str(admin.create_delegation_token().owner) == "User:client"
        listed = CliRunner().invoke(
            main,
            ["topics", "list", "--bootstrap-server", bootstrap, "--command-config", str(tmp_path / "client.properties")],
        )  # fmt: skip
        assert listed.exit_code == 0, listed.output
    finally:
        node.stop()


def test_a_store_that_cannot_be_read_is_found_by_the_check(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "node.pem").unlink()
    checked = CliRunner().invoke(main, ["config", "check", str(tmp_path / "server.properties")])
    assert checked.exit_code == 1
    assert "No such file" in checked.output
