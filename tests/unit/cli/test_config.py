"""`millstream config`: settings checked and explained without a node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.config import config


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(config, arguments, env=environment)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "server.properties"
    path.write_text("node.id=5\nlog.retention.ms=1000\nnum.io.threads=8\n")
    return str(path)


def test_a_good_file_is_ok_and_what_has_no_effect_is_said(file: str) -> None:
    result = run("check", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "num.io.threads has no effect: threads, queues, class names and metrics reporters of the JVM: one event loop does their work",
        f"{file}: ok, 2 settings",
    ]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("log.retention.ms=x", "Invalid value x for configuration log.retention.ms"),
        ("num.partition=3", "unknown setting num.partition: did you mean num.partitions?"),
        ("listeners=OWN://:9093", "names no protocol for listener OWN"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "an address that clients can connect to"),
        ("advertised.listeners=OTHER://a:9092", "which listeners does not have"),
        ("node.id", "write key=value"),
    ],
)
def test_a_bad_setting_exits_with_1_and_names_the_file(
    file: str, override: str, sentence: str
) -> None:
    result = run("check", file, "--override", override)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{file}: ")
    assert sentence in result.stderr


def test_a_file_that_is_not_there_is_a_usage_error() -> None:
    assert run("check", "/no/such/file").exit_code == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"\xff", "is not text in UTF-8"),
        (rb"node.id=\u12", "u12 is not four hexadecimal digits"),
        (b"#" * (64 * 1024 * 1024 + 1), "is no file that somebody wrote"),
    ],
    ids=["bytes", "escape", "endless"],
)
def test_a_file_that_is_none_of_settings_is_named(
    tmp_path: Path, text: bytes, sentence: str
) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(text)
    result = run("check", str(file))
    assert (result.exit_code, result.stdout) == (1, "")
    assert str(file) in result.stderr
    assert sentence in result.stderr


def test_explain_tells_where_the_value_comes_from(file: str) -> None:
    assert "source   in server.properties" in run("explain", "log.retention.ms", file).stdout
    told = run("explain", "log.retention.ms", file, KAFKA_LOG_RETENTION_MS="2000").stdout
    assert "value    2000" in told
    assert "source   in the environment as KAFKA_LOG_RETENTION_MS" in told
    assert "source   default" in run("explain", "num.partitions", file).stdout


def test_explain_as_json() -> None:
    told = json.loads(run("explain", "max.connections", "--output", "json").stdout)
    assert told["value"] == told["default"] == "10000"
    assert told["dynamic"] == "cluster-wide"
    assert told["type"] == "int"
    assert told["meaning"].startswith("Connections in all")


def test_explain_says_why_a_key_of_kafka_has_no_effect() -> None:
    told = run("explain", "remote.log.reader.threads").stdout
    assert "meaning  Without effect: segments are kept on local disks only." in told
    told = run("explain", "zookeeper.connect").stdout
    assert "effect   none here: older releases of Kafka had them" in told


def test_a_key_that_nobody_knows_is_not_found() -> None:
    result = run("explain", "nope")
    assert result.exit_code == 3
    assert result.stderr == "millstream config: there is no setting nope\n"


def test_explain_suggests_the_nearest_name() -> None:
    result = run("explain", "log.retention.hour")
    assert result.exit_code == 3
    assert result.stderr == (
        "millstream config: there is no setting log.retention.hour; did you mean log.retention.hours?\n"
    )


def test_of_a_setting_in_several_units_explain_says_which_counts(file: str) -> None:
    """The finest that is set, as for a node; without any the one with the default."""
    default = json.loads(run("explain", "log.retention.ms", "--output", "json").stdout)
    assert default["effect"] == "none now: log.retention.hours counts, which is 168 (default)"
    assert "effect" not in json.loads(
        run("explain", "log.retention.hours", "--output", "json").stdout
    )
    coarse = json.loads(run("explain", "log.retention.hours", file, "--output", "json").stdout)
    assert coarse["effect"].startswith("none now: log.retention.ms counts, which is 1000 (")
