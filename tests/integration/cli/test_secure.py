"""`millstream server --secure` and `millstream cluster --secure` as processes: what they say, make, keep and refuse."""

from __future__ import annotations

import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients import NewTopic
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.clients.properties_file import read_client_properties
from millstream.errors import SaslAuthenticationFailed
from tests.integration.cli.conftest import MILLSTREAM
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S


class Running(NamedTuple):
    process: subprocess.Popen[str]
    fields: dict[str, str]

    def ended(self) -> str:
        """Ends it in order. Returns what it said on standard error."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=LONG_ENOUGH_S)
        assert self.process.returncode == 0, said
        return said


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    process = subprocess.Popen(
        [*MILLSTREAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("millstream ready "), process.communicate()
        yield Running(process, dict(field.split("=", 1) for field in line.split()[2:]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def refusal(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [*MILLSTREAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_ENOUGH_S,
    )
    return done.returncode, done.stderr


def topics(file: Path, **more: str) -> set[str]:
    with Admin(**read_client_properties(file, Admin) | more) as admin:
        return set(admin.list_topics())


def test_a_secure_server_from_its_first_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    client = data / "client.properties"
    with running("server", "--secure", "--data", str(data), "--port", "0") as first:
        assert f"bootstrap.servers={first.fields['bootstrap']}\n" in client.read_text()
        with Admin(**read_client_properties(client, Admin)) as admin:
            admin.create_topics([NewTopic("kept")]).raise_errors()
        with pytest.raises(SaslAuthenticationFailed):
            topics(client, sasl_password="guess", sasl_username="admin")
        files = [each for each in data.rglob("*") if each.is_file()]
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
        said = first.ended()
    told = re.findall(r"user admin, password (\S+) \(told this once", said)
    assert len(told) == 1
    assert f'password="{told[0]}"' in client.read_text()
    assert "access rules decide; who a client is must be proven at SASL_SSL" in said
    with running("server", "--secure", "--data", str(data), "--port", "0") as second:
        assert topics(client) == {"kept"}
        shell = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path)})
        assert (
            shell.invoke(main, ["profile", "add", "prod", "--config", str(client)]).exit_code == 0
        )
        assert shell.invoke(main, ["-p", "prod", "topics", "list"]).stdout == "kept\n"
        assert told[0] not in shell.invoke(main, ["profile", "show", "prod"]).output
        assert told[0] not in second.ended()
    code, sentence = refusal("server", "--data", str(data))
    assert (code, sentence.count("\n")) == (2, 1)
    assert "was begun with --secure" in sentence


@pytest.mark.nodes
def test_a_secure_cluster_from_its_first_start(tmp_path: Path) -> None:
    data = tmp_path / "c"
    client = data / "client.properties"
    start = ("cluster", "--secure", "--data", str(data), "--port", "0")
    with running(*start, "--nodes", "2") as first:
        settings = read_client_properties(client)
        assert settings["bootstrap_servers"] == first.fields["bootstrap"]
        with Admin(**settings) as admin:
            admin.create_topics([NewTopic("t", 3, 2)]).raise_errors()
        with Producer(**settings, acks="all") as producer:
            for number in range(30):
                producer.send("t", str(number).encode())
            producer.flush()
        said = first.ended()
    assert len(re.findall(r"user admin, password \S+ \(told this once", said)) == 1
    files = [each for each in data.rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    code, sentence = refusal("cluster", "--data", str(data))
    assert (code, sentence.count("\n")) == (2, 1)
    assert "was begun with --secure: start it with --secure" in sentence
    with running(*start) as second:
        with Consumer(**settings, group_id="g", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            seen: set[int] = set()
            while len(seen) < 30:
                seen |= {
                    int(record.value or b"") for record in consumer.poll(timeout_ms=LONG_ENOUGH_MS)
                }
        assert "password" not in second.ended()
    assert seen == set(range(30))
