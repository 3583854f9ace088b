"""DataFrames as inputs of a topology, before Spark has to do with it."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql.types import BinaryType, StructType

from millstream.clients.admin.core.results import Results
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark import PipelineFailed
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline import inputs
from millstream.spark.pipeline.inputs import (
    DataFrameInput,
    InputPlace,
    InputQuery,
    checked_inputs,
    place_of,
)
from millstream.streams import StreamsBuilder
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string
from millstream.streams.topology import Topology
from millstream.streams.topology.plan import SubTopologyPlan, outputs_of, plan_topology

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "spark" / "bridges.md"
ROWS: Any = object()


def joined() -> Topology:
    builder = StreamsBuilder()
    names = builder.table("names", key=string(), value=string())
    orders = builder.stream("orders", key=string(), value=string())
    orders.join(names, lambda order, name: order + name).to("out")
    return builder.build()


def test_an_input_is_an_internal_topic_that_is_purged_as_repartition_topics_are() -> None:
    fed = joined().with_own_changelogs().with_fed_sources({"orders": 4})
    plan = plan_topology(fed, "app", {"names": 4, "orders": 9})
    between = "app-orders-bridge-repartition"
    assert plan.sub_topologies == (
        SubTopologyPlan(0, {"names": 4, between: 4}, frozenset({between})),
    )
    assert {t.name: t.partitions for t in plan.internal_topics}[between] == 4


def test_a_table_may_be_an_input_and_keeps_a_changelog_of_its_own() -> None:
    fed = joined().with_own_changelogs().with_fed_sources({"names": 3})
    plan = plan_topology(fed, "app", {"orders": 3})
    assert [(t.name, t.partitions) for t in plan.internal_topics] == [
        ("app-names-bridge-repartition", 3),
        ("app-names-STATE-STORE-0000000000-changelog", 3),
    ]


def test_inputs_that_are_joined_with_topics_need_their_number_of_partitions() -> None:
    fed = joined().with_fed_sources({"orders": 4})
    with pytest.raises(TopologyError, match="topics that are joined need equal partition counts"):
        plan_topology(fed, "app", {"names": 3})


def test_what_no_task_reads_by_its_name_is_no_input() -> None:
    builder = StreamsBuilder()
    builder.global_table("names", key=string(), value=string())
    builder.stream("orders", key=string(), value=string()).to("out")
    for name in ("names", "other"):
        with pytest.raises(
            TopologyError, match=f"no stream or table reads {name}, .*: there are orders"
        ):
            builder.build().with_fed_sources({name: 1})


def test_the_checkpoint_is_below_the_directory_of_the_application_or_where_it_is_said_to_be() -> (
    None
):
    topic, prefix = "app-orders-bridge-repartition", "app-orders-bridge"
    given = DataFrameInput(ROWS)
    assert place_of("orders", given, "app", "/data") == InputPlace(
        topic, prefix, "/data/inputs/app/orders"
    )
    given = DataFrameInput(ROWS, checkpoint="hdfs://x/y")
    assert place_of("orders", given, "app", None) == InputPlace(topic, prefix, "hdfs://x/y")
    for directory in (None, "/data/{executor}"):
        with pytest.raises(ConfigError, match="input orders needs a directory for its checkpoint"):
            place_of("orders", DataFrameInput(ROWS), "app", directory)


class _Rows:
    """A streaming DataFrame of one column."""

    schema = StructType().add("value", BinaryType())
    isStreaming = True  # noqa: N815  # Spark's name
    columns = ("value",)


class _Described:
    partitions = (0, 1)


class _Fed(InputQuery):
    """Its DataFrame has given what it has."""

    def _attempt(self, *_: object) -> None:
        """Runs no query."""


class _Admin:
    """Knows a topic with two partitions, of which the second has a transaction that nobody ends."""

    def __init__(self, **_: object) -> None:
        """Connects to nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes nothing."""

    async def describe_topics(self, names: list[str]) -> Results[str, Any]:
        return Results(dict.fromkeys(names, _Described()))

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        ends = {0: 7, 1: 4 if read_committed else 9}
        return Results({tp: OffsetAndTimestamp(ends[tp.partition], -1) for tp in wanted})


def test_a_transaction_that_nobody_ends_keeps_run_available_no_longer_than_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of an attempt that died in it, whose rows are written and never decided."""
    monkeypatch.setattr(inputs, "Admin", _Admin)
    rows: Any = _Rows()
    given = DataFrameInput(rows, readable_timeout_ms=0)
    place = place_of("orders", given, "app", "/data")
    query = _Fed("orders", given, place, for_both({"bootstrap.servers": "b:1"}))
    with pytest.raises(PipelineFailed) as failed:
        query.run_available(threading.Event())
    told = str(failed.value)
    assert (
        "in app-orders-bridge-repartition-1 a transaction is still open after 0 ms "
        "(DataFrameInput.readable_timeout_ms)" in told
    )
    assert told.endswith("its id begins with app-orders-bridge")


def test_a_limit_below_nothing_is_refused() -> None:
    rows: Any = _Rows()
    with pytest.raises(ConfigError, match="readable_timeout_ms must not be negative, got -1"):
        checked_inputs({"orders": DataFrameInput(rows, readable_timeout_ms=-1)})


def test_outputs_are_the_topics_that_the_topology_names_without_internal_ones() -> None:
    assert outputs_of(joined()) == {"out"}
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=string(), value=string())
    orders.repartition(name="again", partitions=2).to("out")
    assert outputs_of(builder.build()) == {"out"}
    orders.to(lambda key, value, context: "any")
    assert outputs_of(builder.build()) is None


def test_every_field_of_an_input_stands_in_the_guide() -> None:
    table = GUIDE.read_text().split("| field of `DataFrameInput` |")[1].split("\n\n")[0]
    told = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert told == [field.name for field in dataclasses.fields(DataFrameInput)]
