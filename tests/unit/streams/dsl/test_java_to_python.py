"""The page for those who come from Java names every public method, and what it shows of ours exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream import streams
from millstream.testing.streams.topology_test_driver import (
    TestInputTopic,
    TestOutputTopic,
    TopologyTestDriver,
)

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs/reference/java-to-python.md").read_text()
METHODS = [
    line.split(".")
    for line in (ROOT / "tests/golden/streams_java_methods.txt").read_text().splitlines()
    if not line.startswith("#")
]
SECTIONS = {part.partition("\n")[0]: part.partition("\n")[2] for part in PAGE.split("\n## ")[1:]}
OURS = {
    "StreamsBuilder": ("builder", streams.StreamsBuilder),
    "KStream": ("stream", streams.KStream),
    "KTable": ("table", streams.KTable),
    "KGroupedStream": ("grouped", streams.KGroupedStream),
    "TopologyTestDriver": ("driver", TopologyTestDriver),
    "TestInputTopic": ("topic", TestInputTopic),
    "TestOutputTopic": ("topic", TestOutputTopic),
    "KafkaStreams": ("app", streams.KafkaStreams),
    "Topology": ("TopologyBuilder", streams.TopologyBuilder),
}


def rows(section: str) -> list[tuple[str, str]]:
    found = re.findall(r"^\| (.+?) \| (.+) \|$", SECTIONS[section], re.MULTILINE)
    return [row for row in found if row[0] != "Java"]


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in METHODS}))
def test_every_java_method_has_a_row(kind: str) -> None:
    named = {name for left, _ in rows(kind) for name in re.findall(r"`(\w+)`", left)}
    assert {method for each, method in METHODS if each == kind} <= named


@pytest.mark.parametrize("kind", sorted(OURS))
def test_what_the_page_shows_exists(kind: str) -> None:
    name, ours = OURS[kind]
    shown = {
        method for _, right in rows(kind) for method in re.findall(rf"`{name}\.(\w+)\b", right)
    }
    assert shown
    missing = {method for method in shown if not hasattr(ours, method)}
    assert not missing
