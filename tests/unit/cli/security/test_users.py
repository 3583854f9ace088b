"""`millstream users`: what is written and told before the cluster is changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner, Result

from millstream.cli.cluster_options import ClusterOptions
from millstream.cli.main import main
from millstream.clients.admin import Results, ScramCredentialInfo
from millstream.errors import ClusterAuthorizationFailed, KafkaError, ResourceNotFound
from millstream.security.scram import ScramMechanism


class ScriptedAdmin:
    """Knows `alice`, by SCRAM-SHA-512. Keeps what it was to change, or refuses it."""

    def __init__(self, refusal: KafkaError | None = None) -> None:
        self.changes: list[Any] = []
        self._refusal = refusal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe_user_scram_credentials(
        self, users: Iterable[str]
    ) -> Results[str, list[ScramCredentialInfo]]:
        there = [ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)]
        return Results(
            {
                user: there if user == "alice" else ResourceNotFound(f"there is no user {user}")
                for user in users
            }
        )

    def alter_user_scram_credentials(self, changes: Iterable[Any]) -> Results[str, None]:
        changes = list(changes)
        self.changes += changes
        return Results({each.user: self._refusal for each in changes})


def run(admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setattr(ClusterOptions, "admin", lambda _: admin)
    return CliRunner().invoke(main, ["users", *arguments])


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "admin.properties"
    file.write_text("security.protocol=SASL_SSL\n")
    return str(file)


@pytest.mark.parametrize("verb", [("add", "bob"), ("password", "alice")])
def test_a_file_that_cannot_be_written_leaves_the_password_as_it_was(
    verb: tuple[str, str], config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would know the new one."""
    admin = ScriptedAdmin()
    file = tmp_path / "missing" / "user.properties"
    done = run(admin, monkeypatch, *verb, "--generate", "--client-properties", str(file), "--config", config)  # fmt: skip
    assert (done.exit_code, admin.changes) == (1, [])
    assert "No such file or directory" in done.stderr


def test_a_refusal_leaves_a_file_and_says_so(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that came after a part of the change, or an answer that was lost, too: the file has the only copy."""
    file = tmp_path / "bob.properties"
    admin = ScriptedAdmin(ClusterAuthorizationFailed("no"))
    done = run(admin, monkeypatch, "add", "bob", "--generate", "--client-properties", str(file), "--config", config)  # fmt: skip
    assert done.exit_code == 4
    assert file.exists()
    assert "stays, with a password that bob may not have" in done.stderr


def test_a_made_password_is_told_before_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = ScriptedAdmin(ClusterAuthorizationFailed("no"))
    done = run(admin, monkeypatch, "password", "alice", "--generate")
    assert done.exit_code == 4
    assert done.stderr.startswith("password of alice: ")


def test_a_mechanism_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = ScriptedAdmin()
    done = run(admin, monkeypatch, "remove", "alice", "--mechanism", "SCRAM-SHA-256", "--yes")
    assert (done.exit_code, done.stdout, admin.changes) == (0, "", [])
    assert done.stderr == "alice has no login by SCRAM-SHA-256\n"


def test_an_interruption_leaves_a_file_and_says_so(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change may have been made: the file has the only copy of the password."""

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "bob.properties"
    admin = ScriptedAdmin()
    monkeypatch.setattr(admin, "alter_user_scram_credentials", interrupted)
    done = run(admin, monkeypatch, "add", "bob", "--generate", "--client-properties", str(file), "--config", config)  # fmt: skip
    assert done.exit_code == 130
    assert "stays, with a password that bob may not have" in done.stderr
