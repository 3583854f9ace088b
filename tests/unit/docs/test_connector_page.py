"""The page on moving from Spark's Kafka connector names options that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from millstream.spark.kafka_settings import PREFIX, is_setting
from millstream.spark.sink.options import KNOWN as SINK
from millstream.spark.sink.options import parse_sink_options
from millstream.spark.source.options import KNOWN as SOURCE
from millstream.spark.source.options import parse_source_options

PAGE = (
    Path(__file__).parents[3] / "docs" / "guide" / "spark" / "coming-from-the-kafka-connector.md"
).read_text()
OF_SINK, OF_SOURCE = ({name.lower() for name in each} for each in (SINK, SOURCE))
ALIASES = {"maxoffsetspertrigger", "kafka.group.id"}


def rows(section: str) -> list[list[str]]:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()]
    return [row for row in cells if len(row) == 3 and set(row[0]) != {"-"}][1:]


def named(text: str) -> list[str]:
    return [name.lower() for name in re.findall(r"`([\w.]+)`", text)]


@pytest.mark.parametrize(
    ("section", "known"),
    [
        ("Options of the source", OF_SOURCE),
        ("Columns and options of the sink", (*OF_SINK, "foreachbatch")),
        ("Settings of the clients", ()),
    ],
)
def test_what_the_connectors_options_are_called_here_exists(
    section: str, known: tuple[str, ...]
) -> None:
    names = {name for row in rows(section) for name in named(row[1])}
    assert names
    strange = names - set(known) - ALIASES
    assert {each for each in strange if not is_setting(each.removeprefix(PREFIX))} == set()
    assert all(each.startswith(PREFIX) for each in strange)


def test_options_that_are_new_exist_and_none_is_left_out() -> None:
    new = set(named(PAGE.split("New here: ")[1].split(", in [the source]")[0]))
    old = {name for row in rows("Options of the source") for name in named(row[1] + row[2])}
    assert new | (old & set(OF_SOURCE)) == set(OF_SOURCE)


def test_the_example_is_understood() -> None:
    after = PAGE.split("# after")[1].split("```")[0]
    options = re.findall(r'option\(\s*"([^"]+)", "([^"]+)"', after)
    of_sink = [name for name, _ in options].index("kafka.bootstrap.servers", 1)
    source = parse_source_options(dict(options[:of_sink]))
    assert (source.group_id, source.records_per_trigger_max) == ("copies", 50_000)
    schema = StructType().add("key", "binary").add("value", "binary")
    sink = parse_sink_options(dict(options[of_sink:]), schema)
    assert (sink.topic, sink.delivery_guarantee.value) == ("copies", "exactly-once")
