"""`millstream streams describe`: a topology of one's own module as text or picture, and what is wrong with a name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main

MODULE = """
from millstream.streams import StreamsBuilder, TopologyBuilder

builder = StreamsBuilder()
builder.stream("in").to("out")

def topology():
    again = StreamsBuilder()
    again.stream("in").to("out")
    return again.build()

def broken():
    raise RuntimeError("no luck")

def refused():
    again = StreamsBuilder()
    again.stream("in").filter(lambda key: True)

twice = StreamsBuilder()
twice.stream("in", name="mine").filter(lambda key, value: True, name="mine")
nodes = TopologyBuilder().add_source("KSTREAM-SOURCE", "in").add_sink("sink", "out", "KSTREAM-SOURCE")
number = 5
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "pipeline_of_test.py").write_text(MODULE)
    (tmp_path / "broken_of_test.py").write_text("def topology(:")
    (tmp_path / "lonely_of_test.py").write_text("import absent_of_test")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "pipeline_of_test", raising=False)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["streams", "describe", *arguments])

    return run


@pytest.mark.parametrize("name", ["builder", "nodes", "topology"])
def test_a_topology_is_described_as_kafka_streams_does(run, name: str) -> None:
    done = run(f"pipeline_of_test:{name}")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE")


def test_a_topology_is_drawn(run, tmp_path: Path) -> None:
    done = run("pipeline_of_test:topology", "--svg", "picture.svg")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "picture.svg").read_text().startswith("<svg ")
    assert run("pipeline_of_test:topology", "--svg", "-").output.startswith("<svg ")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("pipeline_of_test", "is not MODULE:TOPOLOGY"),
        ("nowhere_to_be_found:topology", "no module nowhere_to_be_found"),
        ("pipeline_of_test:absent", "has no absent"),
        ("pipeline_of_test:number", "is int; name a Topology"),
        ("pipeline_of_test:broken", "failed: RuntimeError: no luck"),
        ("pipeline_of_test:refused", "refused failed: TypeError: filter: predicate is called with"),
        (
            "pipeline_of_test:twice",
            "twice cannot be built: a node named mine exists already: choose another name",
        ),
        ("broken_of_test:topology", "broken_of_test cannot be imported: SyntaxError: "),
        (
            "lonely_of_test:topology",
            "lonely_of_test cannot be imported: it imports absent_of_test, which is not installed",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, target: str, words: str) -> None:
    done = run(target)
    assert done.exit_code != 0
    assert words in done.output
    assert "Traceback" not in done.output


def test_a_picture_that_cannot_be_written_is_an_error(run) -> None:
    done = run("pipeline_of_test:topology", "--svg", "missing/picture.svg")
    assert done.exit_code == 1
    assert "cannot write missing/picture.svg" in done.output
