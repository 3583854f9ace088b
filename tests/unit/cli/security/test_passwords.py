"""Where the password of a user comes from, and the file that a user is given."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import click
import pytest

from millstream.cli.cluster_options import ClusterOptions
from millstream.cli.secure.client_file import UserLogin
from millstream.cli.security.passwords import PasswordOptions
from millstream.properties_text import parse_properties
from millstream.security.scram import ScramMechanism

ADMIN = ClusterOptions(
    None,
    {
        "bootstrap.servers": "broker:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "… admin-secret …",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "-----BEGIN",
        "ssl.keystore.location": "/admin.pem",
        "ssl.key.password": "admin-secret",
    },
)
OURS = ClusterOptions(
    None, {key.replace(".", "_"): value for key, value in ADMIN.file_settings.items()}
)
"""The same, by our names."""


def options(
    file: str | None = None, client_file: Path | None = None, *, generate: bool = False
) -> PasswordOptions:
    return PasswordOptions([], file, generate, client_file, 4096)


def test_the_first_line_of_a_file_is_the_password(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("wonder land\nmore\n")
    assert options(str(file)).read("alice") == "wonder land"


def test_only_line_ends_end_a_password(tmp_path: Path) -> None:
    """`str.splitlines` knows more of them."""
    file = tmp_path / "password"
    file.write_bytes("won\x85der\u2028land\r\nmore".encode())
    assert options(str(file)).read("alice") == "won\x85der\u2028land"


def test_a_password_that_is_no_utf_8_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_bytes("pässword".encode("latin-1"))
    with pytest.raises(click.UsageError, match="not a text in UTF-8"):
        options(str(file)).read("alice")
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes()), encoding="utf-8")
    )
    with pytest.raises(click.UsageError, match="not a text in UTF-8"):
        options("-").read("alice")


@pytest.mark.parametrize("file", ["-", None])
def test_what_is_piped_is_read(file: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("wonder\nsecond line"))
    assert options(file).read("alice") == "wonder"


def test_an_empty_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    with pytest.raises(
        click.UsageError, match=r"the password is empty: .* or --generate makes one"
    ):
        options().read("alice")


def test_made_passwords_differ() -> None:
    made = {options(generate=True).read("alice") for _ in range(3)}
    assert len(made) == 3
    assert all(len(each) == 32 for each in made)


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="not both"):
        options("f", generate=True).check(ADMIN)
    (tmp_path / "there").touch()
    with pytest.raises(click.UsageError, match="is there already"):
        options(client_file=tmp_path / "there").check(ADMIN)
    with pytest.raises(click.UsageError, match=r"no security\.protocol of SASL"):
        options(client_file=tmp_path / "new").check(ClusterOptions())


@pytest.mark.parametrize("admin", [ADMIN, OURS])
def test_a_file_for_the_user_has_nothing_of_the_administrator(
    tmp_path: Path, admin: ClusterOptions
) -> None:
    file = tmp_path / "alice.properties"
    options(client_file=file).check(admin)
    options(client_file=file).write_client_file(
        admin, UserLogin("alice", 'won"d\\er', "SCRAM-SHA-512")
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "admin" not in file.read_text()
    settings = parse_properties(file.read_text())
    assert settings["bootstrap.servers"] == "broker:9092"
    assert settings["ssl.truststore.certificates"] == "-----BEGIN"
    assert settings["sasl.mechanism"] == "SCRAM-SHA-512"
    assert settings["sasl.jaas.config"].endswith(r'username="alice" password="won\"d\\er";')


def test_settings_in_our_own_names_are_the_administrators_too(tmp_path: Path) -> None:
    """`sasl_password` is a setting of every client here, as `sasl.password` is."""
    of_admin = {
        name: f"admin-{name}"
        for name in (
            "sasl_username", "sasl_password", "sasl_jaas_config", "sasl.password", "ssl_key_password",
            "ssl_keystore_location", "ssl.certificate.pem", "ssl_certificate_location",
        )
    }  # fmt: skip
    shared = {
        "bootstrap_servers": "broker:9092",
        "security_protocol": "SASL_SSL",
        "client_id": "me",
    }
    admin = ClusterOptions(None, {**shared, **of_admin})
    wanted = options(client_file=tmp_path / "alice.properties")
    wanted.check(admin)
    wanted.write_client_file(admin, UserLogin("alice", "wonder", "SCRAM-SHA-512"))
    text = (tmp_path / "alice.properties").read_text()
    assert "admin" not in text
    assert set(parse_properties(text)) == {
        "bootstrap.servers", "security.protocol", "client.id", "sasl.mechanism", "sasl.jaas.config",
    }  # fmt: skip


def test_each_mechanism_has_a_credential() -> None:
    made = options().credentials("alice", "wonder", list(ScramMechanism))
    assert [(each.user, each.mechanism, each.iterations) for each in made] == [
        ("alice", ScramMechanism.SCRAM_SHA_256, 4096),
        ("alice", ScramMechanism.SCRAM_SHA_512, 4096),
    ]
    assert "wonder" not in repr(made)
    assert "wonder" not in repr(UserLogin("alice", "wonder", "SCRAM-SHA-512"))
