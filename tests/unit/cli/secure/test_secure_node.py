"""What `millstream server --secure` makes of an empty directory, keeps at the next start, and refuses."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import socket
import stat
from pathlib import Path

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.sources import gathered_settings
from millstream.broker.storage.bootstrap_checkpoint import read_bootstrap
from millstream.cli.private_files import private_files
from millstream.cli.secure.client_file import password_of, point_client_file
from millstream.cli.secure.secure_node import SecureNode
from millstream.cli.secure.stores import Stores
from millstream.cli.server import serving
from millstream.cli.server.settings import check_stays_secure, read_settings
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties
from millstream.protocol.generated.metadata_records import UserScramCredentialRecord
from millstream.runtime.system import SystemFileSystem
from millstream.security.jaas import parse_jaas_config
from millstream.security.scram import ScramMechanism, salted_password, scram_keys
from tests.support.patched_library import patch_library

BOOTSTRAP = "127.0.0.1:1234"


def node(directory: Path, **given: str) -> SecureNode:
    settings = {key.replace("_", "."): value for key, value in given.items()}
    gathered = gathered_settings(settings, "server.properties", {}, [])
    return SecureNode(gathered, gathered.values | {"log.dirs": str(directory)}, None)


def begun(directory: Path, **given: str) -> str:
    """Returns what is told at the end of a start."""
    made = node(directory, **given)
    with private_files(are_wanted=True):
        made.begin(None)
    return made.ready_at(BOOTSTRAP)


def login(directory: Path) -> dict[str, str]:
    settings = parse_properties((directory / "client.properties").read_text())
    return dict(parse_jaas_config(settings["sasl.jaas.config"]).options)


def test_a_first_start_makes_a_user_whose_password_is_told_once(tmp_path: Path) -> None:
    told = begun(tmp_path / "d")
    assert login(tmp_path / "d")["username"] == "admin"
    assert f"user admin, password {login(tmp_path / 'd')['password']} (told this once" in told
    again = begun(tmp_path / "d")
    assert "password" not in again
    assert f"--config {tmp_path}/d/client.properties" in again


def test_the_directory_is_formatted_with_what_verifies_the_password(tmp_path: Path) -> None:
    begun(tmp_path)
    records = read_bootstrap(SystemFileSystem(), str(tmp_path))
    assert records is not None
    users = [each for each in records if isinstance(each, UserScramCredentialRecord)]
    assert {(each.name, ScramMechanism(each.mechanism)) for each in users} == {
        ("admin", mechanism) for mechanism in ScramMechanism
    }
    for each in users:
        mechanism = ScramMechanism(each.mechanism)
        password = login(tmp_path)["password"].encode()
        salted = salted_password(mechanism, password, bytes(each.salt), each.iterations)
        assert scram_keys(mechanism, salted).stored_key == bytes(each.stored_key)


def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    begun(tmp_path / "d")
    files = [each for each in (tmp_path / "d").rglob("*") if each.is_file()]
    assert {"secure.properties", "client.properties", "authority.key.pem", "node.pem"} <= {each.name for each in files}  # fmt: skip
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o700


def test_the_settings_are_those_of_a_protected_node(tmp_path: Path) -> None:
    config = broker_config(node(tmp_path / "d").settings)
    assert [(each.name, each.host, each.port) for each in config.listeners] == [("SASL_SSL", "127.0.0.1", 9092)]  # fmt: skip
    assert set(config.protection.logins) == set(config.protection.tls) == {"SASL_SSL"}
    assert config.authorizer_class_name.endswith(".StandardAuthorizer")
    assert config.settings["super.users"] == "User:admin"
    assert config.delegation_token_secret_key
    assert not (tmp_path / "d").exists()


def test_a_start_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    """Its password may have been read, and is kept; what was formatted has it."""
    begun(tmp_path)
    password = login(tmp_path)["password"]
    secret = node(tmp_path).settings["delegation.token.secret.key"]
    (tmp_path / "meta.properties").unlink()
    (tmp_path / "node.pem.tmp").touch()
    told = begun(tmp_path)
    assert login(tmp_path)["password"] == password
    assert f"password {password}" in told
    assert node(tmp_path).settings["delegation.token.secret.key"] == secret


def test_the_file_of_the_administrator_leads_to_where_the_node_is(tmp_path: Path) -> None:
    begun(tmp_path)
    client = tmp_path / "client.properties"
    assert parse_properties(client.read_text())["bootstrap.servers"] == BOOTSTRAP
    client.write_text(client.read_text() + "# mine\nclient.id=me\n")
    before = client.read_text()
    assert node(tmp_path).ready_at("other:1")
    assert client.read_text() == before.replace(BOOTSTRAP, "other:1")


@pytest.mark.parametrize(
    ("line", "leads_to"),
    [
        (b"bootstrap.servers = old:1", b"bootstrap.servers = new:2"),
        (b"  bootstrap.servers: old:1", b"  bootstrap.servers: new:2"),
        (b"bootstrap.servers old:1", b"bootstrap.servers new:2"),
        (b"bootstrap_servers=old:1", b"bootstrap_servers=new:2"),
        (b"bootstrap.servers=old:1,\\\n  old:2", b"bootstrap.servers=new:2"),
        (b"#bootstrap.servers=old:1", b"#bootstrap.servers=old:1"),
        (b"my.bootstrap.servers=old:1", b"my.bootstrap.servers=old:1"),
    ],
)
def test_the_address_is_found_however_it_is_written(
    line: bytes, leads_to: bytes, tmp_path: Path
) -> None:
    """And nothing else is changed, such as a comment in Latin-1, or a file from Windows."""
    file = tmp_path / "client.properties"
    file.write_bytes(b"# f\xfcr mich\r\n" + line + b"\r\nclient.id=me\n")
    point_client_file(file, "new:2")
    assert file.read_bytes() == b"# f\xfcr mich\r\n" + leads_to + b"\r\nclient.id=me\n"


def test_a_login_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(b"sasl.jaas.config=\xfc")
    with pytest.raises(ConfigError, match=r"client\.properties holds no login"):
        password_of(file)


def test_a_file_that_was_taken_elsewhere_is_not_made_again(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / "client.properties").unlink()
    assert begun(tmp_path) == ""
    assert not (tmp_path / "client.properties").exists()


def test_a_directory_that_was_begun_without_is_refused(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / "secure.properties").unlink()
    with pytest.raises(ConfigError, match="was begun without --secure: give another directory"):
        node(tmp_path)


def test_a_directory_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds other things \(client\.properties\)"):
        node(tmp_path)


def test_without_secure_it_is_served_only_where_it_stays_so(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(
        ConfigError,
        match=r"was begun with --secure, .*: start it with `millstream server --secure`",
    ):
        check_stays_secure(broker_config({"log.dirs": str(tmp_path)}))
    own = parse_properties((tmp_path / "secure.properties").read_text())
    check_stays_secure(broker_config(own))
    with pytest.raises(ConfigError, match="was begun with --secure"):
        check_stays_secure(broker_config(own | {"authorizer.class.name": ""}))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"super_users": "User:me"}, r"super\.users in server\.properties: --secure sets it"),
        ({"listeners": "PLAINTEXT://:9092"}, "is not a listener of --secure"),
        ({"controller_quorum_voters": "1@h:1"}, "`millstream cluster --secure` starts several"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    given: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        node(tmp_path / "d", **given)
    assert not (tmp_path / "d").exists()


def test_a_certificate_is_issued_anew_near_its_end(tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    Stores(tmp_path, now).prepare("node.pem", "node", ["one.example"])
    first, authority = (tmp_path / "node.pem").read_text(), Stores(tmp_path, now).authority_pem
    Stores(tmp_path, now + dt.timedelta(days=200)).prepare("node.pem", "node", ["one.example"])
    assert (tmp_path / "node.pem").read_text() == first
    Stores(tmp_path, now + dt.timedelta(days=350)).prepare("node.pem", "node", ["one.example"])
    second = (tmp_path / "node.pem").read_text()
    assert second != first
    assert Stores(tmp_path, now).authority_pem == authority
    shutil.move(tmp_path / "authority.key.pem", tmp_path / "elsewhere")
    later = Stores(tmp_path, now + dt.timedelta(days=360))
    later.prepare("node.pem", "node", ["one.example"])
    with pytest.raises(ConfigError, match="put the key back for this start"):
        later.prepare("node.pem", "node", ["two.example"])


def test_without_the_key_a_certificate_serves_until_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The guide has it kept elsewhere: neither the days before the end nor another name of the machine keep a node from its work."""
    now = dt.datetime.now(dt.UTC)
    Stores(tmp_path, now).prepare("node.pem", "node", ["one.example"])
    first = (tmp_path / "node.pem").read_text()
    (tmp_path / "authority.key.pem").unlink()
    patch_library(monkeypatch, Stores.__module__, socket, gethostname=lambda: "another-machine")
    Stores(tmp_path, now).prepare("node.pem", "node", ["one.example"])
    Stores(tmp_path, now + dt.timedelta(days=364)).prepare("node.pem", "node", ["one.example"])
    assert (tmp_path / "node.pem").read_text() == first
    assert len(caplog.messages) == 2
    assert all("authority.key.pem, which issues another one, is missing" in each for each in caplog.messages)  # fmt: skip
    with pytest.raises(ConfigError, match="put the key back for this start"):
        Stores(tmp_path, now + dt.timedelta(days=366)).prepare("node.pem", "node", ["one.example"])


def test_what_an_earlier_start_was_given_holds(tmp_path: Path) -> None:
    """And what was written into the file; what is given anew is stronger, and the port moves both."""
    begun(tmp_path, listeners="SASL_SSL://:9095", advertised_listeners="SASL_SSL://b.example:9095")
    with (tmp_path / "secure.properties").open("a") as file:
        file.write("num.io.threads=3\nlog.retention.hours=5\n")
    begun(tmp_path, log_retention_hours="7")
    kept = parse_properties((tmp_path / "secure.properties").read_text())
    assert kept["listeners"] == "SASL_SSL://:9095"
    assert (kept["num.io.threads"], kept["log.retention.hours"]) == ("3", "7")
    given = {"log.dirs": str(tmp_path)}
    moved = SecureNode(gathered_settings(given, "f", {}, ()), given, 9096).settings
    assert moved["advertised.listeners"] == "SASL_SSL://b.example:9096"


def test_what_an_earlier_start_was_given_holds_where_the_directory_was_moved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = tmp_path / "old"
    begun(old, metadata_log_dir=str(old), num_io_threads="3")
    shutil.move(old, tmp_path / "new")
    begun(tmp_path / "new")
    settings = node(tmp_path / "new").settings
    assert settings["num.io.threads"] == "3"
    assert str(old) not in str(settings)
    assert not caplog.messages


def test_edits_of_what_secure_sets_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun(tmp_path)
    with (tmp_path / "secure.properties").open("a") as file:
        file.write("super.users=User:admin;User:me\n")
    begun(tmp_path)
    assert caplog.messages == [
        f"{tmp_path}/secure.properties: --secure sets super.users, and what the file had is gone"
    ]


def test_nothing_is_written_beside_a_node_that_runs(tmp_path: Path) -> None:
    begun(tmp_path)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with contextlib.closing(SystemFileSystem().lock(f"{tmp_path}/.lock")):
        with pytest.raises(ConfigError, match="is held by another broker"):
            node(tmp_path, num_io_threads="3").begin(None)
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    begun(tmp_path, num_io_threads="3")


def test_settings_are_read_as_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes("client.id=é".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"server\.properties is not text in UTF-8"):
        read_settings(str(file), ())


def test_what_suits_a_trial_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later start without --ephemeral waits for the disk again."""
    monkeypatch.setattr(serving, "write_log", lambda *_: None)
    options = serving.ServerOptions(
        config=None, port=None, data=str(tmp_path), ephemeral=True, secure=True, cluster_id=None, overrides=(),
        log_format="text", until_end_of_input=False, controller_until_end_of_input=False,
    )  # fmt: skip
    config, secure = serving._node_config(options, str(tmp_path))
    assert secure is not None
    assert config.millstream_flush_on_ack == "never"
    assert "millstream.flush.on.ack" not in secure.settings
