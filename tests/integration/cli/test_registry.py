"""`millstream registry` against a registry that answers as Confluent's documentation says."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.completion import VARIABLE
from millstream.cli.completion.shells import PROGRAM, BashWithColons
from millstream.cli.main import main
from tests.integration.cli.conftest import MILLSTREAM, Done
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.patience import LONG_ENOUGH_S

FIRST = '{"type":"record","name":"Flight","fields":[{"name":"minutes","type":"int"}]}'
SECOND = '{"type":"record","name":"Flight","fields":[{"name":"minutes","type":"long"}]}'
INCOMPATIBLE = '{"type":"record","name":"incompatible","fields":[]}'


@pytest.fixture
def server() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "first.avsc").write_text(FIRST)
    (tmp_path / "second.avsc").write_text(SECOND)
    (tmp_path / "incompatible.avsc").write_text(INCOMPATIBLE)
    (tmp_path / "flight.proto").write_text('syntax = "proto3"; message Flight { int32 m = 1; }')
    (tmp_path / "empty.json").write_text("\n")
    return tmp_path


def registry(server: FakeSchemaRegistry, *arguments: str, given: str = "") -> Done:
    runner = CliRunner(env={"MILLSTREAM_SCHEMA_REGISTRY": server.url})
    result = runner.invoke(main, ["registry", *arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def test_schemas_are_registered_listed_and_shown(server: FakeSchemaRegistry, files: Path) -> None:
    tried = registry(
        server, "register", "flights-value", str(files / "first.avsc"), "--dry-run", "--output", "json"
    )  # fmt: skip
    assert json.loads(tried.stdout)[0]["result"] == "would be registered"
    assert server.contents.subjects == {}
    for name, version in (("first", 1), ("second", 2), ("first", 1)):
        done = registry(
            server, "register", "flights-value", str(files / f"{name}.avsc"), "--output", "json"
        )
        assert json.loads(done.stdout)[0]["version"] == version
    assert json.loads(done.stdout)[0]["result"] == "is registered already"
    registry(server, "register", "boats-value", "-", "--type", "json", given='{"type":"object"}')
    registry(server, "register", "ships-value", str(files / "flight.proto"))
    assert [each.get("schemaType") for each in server.contents.schemas] == [None, None, "JSON", "PROTOBUF"]  # fmt: skip
    assert registry(server, "list", "flights").stdout == "SUBJECT\nflights-value\n"
    listed = registry(server, "list", "--versions", "--output", "json")
    assert json.loads(listed.stdout)[1] == {"subject": "flights-value", "versions": [1, 2]}
    shown = registry(server, "show", "flights-value")
    assert shown.stdout.splitlines()[1].split() == ["flights-value", "2", "2", "AVRO", "1,2"]
    assert '  "name": "Flight"' in shown.stdout
    assert registry(server, "show", "flights-value", "--version", "1", "--raw").stdout.strip() == FIRST  # fmt: skip
    (by_id,) = json.loads(registry(server, "show", "--id", "1", "--output", "json").stdout)
    assert by_id == {"id": 1, "type": "AVRO", "references": [], "schema": FIRST}


def test_a_reference_is_passed_on_and_shown(server: FakeSchemaRegistry, files: Path) -> None:
    registry(server, "register", "plane", str(files / "first.avsc"))
    done = registry(
        server, "register", "flights-value", str(files / "second.avsc"), "--reference", "a.Plane=plane:1"
    )  # fmt: skip
    assert done.returncode == 0
    shown = registry(server, "show", "flights-value").stdout
    assert "a.Plane is version 1 of plane\n" in shown


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("protobuf", "message A {\n\tstring \x1b[2Jb = 1;\r\n}", "message A {\n    string \\x1b[2Jb = 1;\n}\n"),
        ("json", '{"title":"\u202e"}', '{\n  "title": "\\u202e"\n}\n'),
    ],
)  # fmt: skip
def test_a_schema_orders_a_terminal_about_in_no_way(
    server: FakeSchemaRegistry, kind: str, text: str, shown: str
) -> None:
    """As records: what others wrote is text."""
    registry(server, "register", "s", "-", "--type", kind, given=text)
    assert registry(server, "show", "s").stdout.partition("\n\n")[2] == shown
    assert registry(server, "show", "s", "--raw").stdout == f"{text}\n".replace("\r", "")


def test_what_does_not_fit_is_refused_before_and_at_the_registration(
    server: FakeSchemaRegistry, files: Path
) -> None:
    wrong = str(files / "incompatible.avsc")
    registry(server, "register", "flights-value", str(files / "first.avsc"))
    good = registry(server, "check", "flights-value", str(files / "second.avsc"))
    assert (good.returncode, good.stdout.splitlines()[1].split()[:3]) == (0, ["flights-value", "latest", "True"])  # fmt: skip
    checked = registry(server, "check", "flights-value", wrong, "--output", "json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout)[0]["reasons"] == ["a field has no default"]
    tried = registry(server, "register", "flights-value", wrong, "--dry-run")
    assert (tried.returncode, "a field has no default" in tried.stderr) == (1, True)
    refused = registry(server, "register", "flights-value", wrong)
    assert (refused.returncode, "incompatible with an earlier schema" in refused.stderr) == (1, True)  # fmt: skip
    near = registry(server, "check", "flight-value", wrong)
    assert (near.returncode, near.stderr) == (3, "error: flight-value: there is no such subject; did you mean flights-value?\n")  # fmt: skip


@pytest.mark.parametrize("is_apicurio", [False, True])
def test_a_subject_that_is_new_takes_anything_and_is_told_where_it_is_checked(
    server: FakeSchemaRegistry, files: Path, *, is_apicurio: bool
) -> None:
    server.contents.is_apicurio = is_apicurio
    file = str(files / "first.avsc")
    tried = registry(server, "register", "flights-value", file, "--dry-run")
    assert (tried.returncode, "would be registered" in tried.stdout) == (0, True)
    checked = registry(server, "check", "flights-value", file)
    assert (checked.returncode, checked.stderr) == (3, "error: flights-value: there is no such subject\n")  # fmt: skip


def test_what_is_deleted_can_be_had_back_until_it_is_deleted_permanently(
    server: FakeSchemaRegistry, files: Path
) -> None:
    for name in ("first", "second"):
        registry(server, "register", "flights-value", str(files / f"{name}.avsc"))
    tried = registry(server, "delete", "flights-value", "--permanent", "--dry-run")
    assert tried.stdout.count("would be deleted permanently") == 2
    assert json.loads(registry(server, "list", "--output", "json").stdout) == [
        {"subject": "flights-value"}
    ]
    one = registry(server, "delete", "flights-value", "--version", "1")
    assert one.stdout.splitlines()[1].split() == ["flights-value", "1", "deleted"]
    assert "--permanent" in one.stderr
    assert registry(server, "delete", "flights-value", "--version", "7").returncode == 3
    rest = registry(server, "delete", "flights-value", "--output", "json")
    assert [row["version"] for row in json.loads(rest.stdout)] == [2]
    assert registry(server, "list").stdout == ""
    assert registry(server, "list", "--deleted").stdout == "SUBJECT\nflights-value\n"
    assert registry(server, "show", "--id", "1", "--raw").returncode == 0
    gone = registry(server, "delete", "flights-value", "--permanent", "--yes", "--output", "json")
    assert json.loads(gone.stdout)[0]["result"] == "deleted permanently"
    assert registry(server, "list", "--deleted").stdout == ""


def test_levels_are_of_a_subject_or_of_all(server: FakeSchemaRegistry) -> None:
    def level(*subject: str) -> str:
        done = registry(server, "config", "get", *subject, "--output", "json")
        return str(json.loads(done.stdout)[0]["compatibility"])

    registry(server, "config", "set", "full", "flights-value", "--dry-run")
    assert level("flights-value") == "BACKWARD"
    registry(server, "config", "set", "FULL_TRANSITIVE", "flights-value")
    registry(server, "config", "set", "none")
    assert (level("flights-value"), level("boats-value"), level()) == ("FULL_TRANSITIVE", "NONE", "NONE")  # fmt: skip
    done = registry(server, "config", "unset", "flights-value")
    assert done.stdout.splitlines()[1].split() == ["flights-value", "NONE", "counts"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("show",), 2, "name a SUBJECT, or give --id"),
        (("show", "a", "--version", "0"), 2, "'0' is not a version: a number from 1 on, or latest"),
        (("show", "nowhere"), 3, "nowhere: there is no such subject"),
        (("show", "--id", "9"), 3, "Schema 9 not found"),
        (("register", "a", "{files}/empty.json"), 2, "empty.json is empty"),
        (("register", "a", "{files}/none.json"), 1, "none.json: No such file"),
        (("register", "a", "{files}/first.avsc", "--reference", "x"), 2, "'x' is not like NAME=SUBJECT:VERSION"),
        (("config", "set", "backwards"), 2, "'backwards'"),
        (("list", "--schema-registry", "localhost:1"), 2, "write http://host:8081"),
        (("list", "--schema-registry", "http://127.0.0.1:1"), 5, "had no answer"),
        (("list", "--ca", "{files}/empty.json"), 2, "has no certificates that can be read"),
        (("lst",), 2, "did you mean list?"),
        (("register", "a", "/dev/zero"), 2, "/dev/zero is no file that somebody wrote"),
        (("register", "a", sys.executable), 2, "is not text in UTF-8"),
        (("register", "", "{files}/first.avsc"), 2, "is a variable empty?"),
        (("config", "set", "FULL", ""), 2, "is a variable empty?"),
        (("config", "unset", ""), 2, "is a variable empty?"),
        (("delete", ""), 2, "is a variable empty?"),
    ],
)  # fmt: skip
def test_mistakes_are_named(
    server: FakeSchemaRegistry, files: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = registry(server, *(each.replace("{files}", str(files)) for each in arguments))
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


def test_a_registry_that_lets_nobody_in_is_told_from_one_that_is_away(
    server: FakeSchemaRegistry,
) -> None:
    server.contents.login_needed = "Basic bWU6c2VjcmV0"
    assert registry(server, "list").returncode == 4
    url = server.url.replace("://", "://me:secret@")
    assert registry(server, "list", "--schema-registry", url).returncode == 0


@pytest.fixture
def login(server: FakeSchemaRegistry) -> str:
    """The token that the registry wants."""
    server.contents.login_needed = "Bearer first"
    return "first"


def test_a_token_logs_in_from_a_file_that_may_change(
    server: FakeSchemaRegistry, login: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{login}\n")
    assert registry(server, "list", "--token-file", str(file)).returncode == 0
    server.contents.login_needed = "Bearer second"
    refused = registry(server, "list", "--token-file", str(file))
    assert (refused.returncode, login in refused.stderr) == (4, False)
    file.write_text("second")
    assert registry(server, "list", "-X", f"bearer.auth.token.file={file}").returncode == 0
    file.write_text("two words")
    wrong = registry(server, "list", "--token-file", str(file))
    assert (wrong.returncode, "holds no token" in wrong.stderr) == (2, True)


def test_address_and_login_come_from_a_file_or_a_profile(
    server: FakeSchemaRegistry, login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the keys of Confluent's serializers, beside the login of the cluster."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers=b:1\nschema.registry.url={server.url}\nbearer.auth.token={login}\n")  # fmt: skip

    def run(*arguments: str) -> Done:
        result = CliRunner().invoke(main, arguments)
        return Done(result.exit_code, result.stdout, result.stderr)

    let_in = run("registry", "list", "--config", str(file))
    assert (let_in.returncode, let_in.stderr[:21]) == (0, "there are no subjects")
    assert run("profile", "add", "prod", "--config", str(file)).returncode == 0
    assert run("-p", "prod", "registry", "list") == let_in
    shown = run("profile", "show", "prod").stdout
    assert (server.url in shown, login in shown) == (True, False)
    run("profile", "use", "prod")
    assert run("registry", "list") == let_in
    elsewhere = run("registry", "list", "--schema-registry", server.url)
    assert elsewhere.returncode == 4  # a login in use goes to its own registry alone
    assert run("registry", "list", "-X", "schema.registry.ulr=x").returncode == 2


def test_records_are_read_with_the_registry_of_the_settings(
    server: FakeSchemaRegistry, login: str, files: Path, bootstrap: str, topic: str
) -> None:
    known = ("-X", f"schema.registry.url={server.url}", "-X", f"bearer.auth.token={login}")
    registry(server, "register", f"{topic}-value", str(files / "first.avsc"), *known[2:])

    def run(*arguments: str, given: str = "") -> Done:
        result = CliRunner().invoke(main, [*arguments, "-b", bootstrap, *known], input=given)
        return Done(result.exit_code, result.stdout, result.stderr)

    run("produce", topic, "--value-format", "avro", "-q", given='{"minutes": 7}\n')
    done = run("consume", topic, "-o", "beginning", "-e", "-q", "--value-format", "avro")
    assert (done.stdout, done.stderr) == ('{"minutes":7}\n', "")


def test_the_tab_key_offers_subjects(
    server: FakeSchemaRegistry, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry(server, "register", "flights-value", str(files / "first.avsc"))
    monkeypatch.setenv("MILLSTREAM_SCHEMA_REGISTRY", server.url)
    shell = BashWithColons(main, {}, PROGRAM, VARIABLE)
    assert [each.value for each in shell.get_completions(["registry", "show"], "fl")] == ["flights-value"]  # fmt: skip


@pytest.mark.parametrize(("asking", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_registry_that_does_not_answer_keeps_nobody(asking: signal.Signals, code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(LONG_ENOUGH_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [*MILLSTREAM, "registry", "list", "--schema-registry", url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as verb:
            asked, _ = silent.accept()
            with asked:
                assert asked.recv(4) == b"GET "
                verb.send_signal(asking)
                told = verb.communicate(timeout=LONG_ENOUGH_S)[1]
    assert (verb.returncode, told) == (code, "")
