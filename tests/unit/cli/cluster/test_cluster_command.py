"""`millstream cluster` refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.cluster.command import cluster
from tests.unit.cli.cluster.test_directory import prepared


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cluster, arguments)


def test_the_directory_is_asked_for() -> None:
    result = run("--nodes", "3")
    assert result.exit_code == 2
    assert "--data" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--override", "node.id=3"], "--override node.id"),
        (["--override", "what"], "write key=value"),
        (["--override", "num.partitions=many"], "num.partitions"),
        (["--override", "no.such.key=1"], "no.such.key"),
        (["--port", "65535"], "ports from 65535 on"),
    ],
)
def test_what_no_node_could_start_with_is_refused_in_one_line(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    result = run("--data", str(tmp_path / "c"), *arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("other", [["--nodes", "5"], ["--roles", "separate"], ["--port", "9093"]])
def test_another_cluster_than_the_one_that_is_there_is_refused(
    tmp_path: Path, other: list[str]
) -> None:
    prepared(tmp_path)
    result = run("--data", str(tmp_path), *other)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("option", [("--port", "0"), ("--nodes", "3"), ("--secure",)])
def test_options_of_a_start_do_not_go_with_subcommands(option: tuple[str, ...]) -> None:
    """Port 0, too, which is False for Python."""
    result = run(*option, "status")
    assert result.exit_code == 2
    assert "options that start a cluster do not go with status" in result.output
