"""The recipe of the image and the unit of systemd name commands, files, ports and directories that there are.

Without Docker they cannot be run here, and without a running systemd a unit cannot be started: both are read.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from millstream.cli.cluster.ready import ready
from millstream.cli.main import main
from millstream.properties_text import parse_properties
from tests.patience import LONG_ENOUGH_S

ROOT = Path(__file__).resolve().parents[3]
PACKAGING = ROOT / "packaging"
UNIT = PACKAGING / "millstream.service"
EXPOSURE_MAX = 1.5
"""What `systemd-analyze security` gives, from 0 to 10: 1.1 in November 2026, most of it for the network that a node is there for."""


def instructions() -> list[tuple[str, str]]:
    """Those of the Containerfile, each with its words."""
    lines = re.sub(r"\\\n\s*", "", (PACKAGING / "Containerfile").read_text()).splitlines()
    return [
        (name, words)
        for line in lines
        if line and not line.startswith("#")
        for name, _, words in [line.partition(" ")]
    ]


def words_of(name: str) -> list[str]:
    return [words for each, words in instructions() if each == name]


def settings_of_unit() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if re.match(r"[A-Za-z]+=", line):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def node_settings(name: str) -> dict[str, str]:
    return dict(parse_properties((PACKAGING / name).read_text()))


def check_command(command: list[str]) -> None:
    """That the product has this verb with these options; positional arguments are whatever it takes."""
    program, *words = command
    assert Path(program).name == "millstream"
    node: click.Command = main
    while isinstance(node, click.Group) and words and not words[0].startswith("-"):
        found = node.get_command(click.Context(node), words[0])
        assert found is not None, f"there is no {' '.join(command)}"
        node = found
        words = words[1:]
    node.make_context("millstream", [word for word in words if not word.startswith("/etc/")])


def test_the_image_is_made_in_two_stages_of_the_same_python() -> None:
    build, run = words_of("FROM")
    assert build == f"{run} AS build"
    assert "slim" in run


def test_what_the_image_copies_is_in_the_repository() -> None:
    copied = [
        path
        for words in words_of("COPY")
        if not words.startswith("--from=build")
        for path in words.split()[:-1]
    ]
    assert len(copied) >= 8
    assert [path for path in copied if not (ROOT / path).exists()] == []


def test_the_image_runs_as_somebody_who_owns_the_volume_alone() -> None:
    assert words_of("USER") == ["10001:10001"]
    (volume,) = words_of("VOLUME")
    assert f"install --directory --owner millstream --group millstream --mode 0750 {volume}" in " ".join(words_of("RUN"))  # fmt: skip
    assert node_settings("container.properties")["log.dirs"].startswith(f"{volume}/")


def test_the_image_starts_a_node_with_its_file_and_asks_it_where_it_answers() -> None:
    (start,), (entry,) = words_of("CMD"), words_of("ENTRYPOINT")
    command = [*json.loads(entry), *json.loads(start)]
    check_command(command)
    assert f"packaging/container.properties {command[-1]}" in words_of("COPY")
    (health,) = words_of("HEALTHCHECK")
    check_command(json.loads(health[health.index("[") :]))
    assert (
        node_settings("container.properties")["millstream.http.listener"] == ready.params[0].default
    )


def test_the_image_publishes_the_port_of_its_clients() -> None:
    settings = node_settings("container.properties")
    ports = {
        str(urlsplit(settings[key].split(",")[0]).port) for key in ("listeners", "advertised.listeners")
    }  # fmt: skip
    assert {*words_of("EXPOSE")} == ports


@pytest.mark.parametrize("name", ["container.properties", "server.properties"])
def test_a_node_takes_the_settings(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "millstream.cli.main", "config", "check", PACKAGING / name],
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    count = len(node_settings(name))
    assert (done.returncode, done.stdout) == (0, f"{PACKAGING / name}: ok, {count} settings\n")


def test_the_unit_starts_a_node_and_waits_until_it_is_ready() -> None:
    unit = settings_of_unit()
    (start,), (wait,) = unit["ExecStart"], unit["ExecStartPost"]
    check_command(shlex.split(start))
    check_command(shlex.split(wait))
    asked = int(shlex.split(wait)[-1])
    assert int(unit["TimeoutStartSec"][0]) * 1_000 > asked, "it would be killed while it is asked"
    settings = node_settings("server.properties")
    assert settings["millstream.http.listener"] == ready.params[0].default
    assert settings["log.dirs"].startswith(f"/var/lib/{unit['StateDirectory'][0]}/")
    assert shlex.split(start)[-1] == f"/etc/{unit['ConfigurationDirectory'][0]}/server.properties"


def test_the_node_of_the_unit_is_reached_from_its_machine_alone() -> None:
    listeners = node_settings("server.properties")["listeners"].split(",")
    assert {urlsplit(each).hostname for each in listeners} == {"127.0.0.1"}


def test_settings_that_cannot_be_used_end_a_node_as_the_unit_expects(tmp_path: Path) -> None:
    wrong = tmp_path / "server.properties"
    wrong.write_text("num.partition=3\n")
    done = subprocess.run(
        [sys.executable, "-m", "millstream.cli.main", "server", wrong],
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert settings_of_unit()["RestartPreventExitStatus"] == [str(done.returncode)]


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    return found


def test_systemd_understands_the_unit(analyze: str, tmp_path: Path) -> None:
    """It looks for the program as well, which is not in /opt here."""
    installed = tmp_path / "millstream"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/millstream/bin/millstream", str(installed)))
    done = subprocess.run(
        [analyze, "verify", copy], capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_is_closed_as_far_as_systemd_can_close_it(analyze: str) -> None:
    done = subprocess.run(
        [analyze, "security", "--offline=true", f"--threshold={EXPOSURE_MAX * 10:.0f}", "--no-pager", UNIT],
        capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.splitlines()[-1]
