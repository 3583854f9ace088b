"""A new version of an application: what its group takes, and what it refuses."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.streams import Materialized, StreamsBuilder, Topology
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import Instances
from tests.patience import until

WORDS = ["a", "b", "a"]


def counting(instances: Instances, *more: str, repartition: str = "by-value") -> Topology:
    """As the application counts, and in other stores, too."""
    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    by_value = values.group_by(
        lambda _, value: value, key=string(), value=string(), name=repartition
    )
    counts = by_value.count(materialized=Materialized("counts"))
    counts.to_stream().to(instances.sink, value=long())
    for store in more:
        by_value.count(materialized=Materialized(store))
    return builder.build()


async def test_a_new_topology_comes_by_way_of_the_classic_protocol_and_nothing_is_lost(
    instances: Instances,
) -> None:
    async with instances.new():
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
    new = counting(instances, "again")
    async with instances.new(new, group_protocol="classic"):
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
    async with instances.new(new):
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 3)


async def test_a_repartition_topic_that_was_renamed_is_refused_before_anything_is_made(
    instances: Instances,
) -> None:
    async with instances.new(group_protocol="classic"):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
    renamed = counting(instances, repartition="by-word")
    app = instances.new(renamed, group_protocol="classic")
    await app.start()
    await until(lambda: app.error is not None)
    with pytest.raises(ConfigError, match="by-value-repartition is, which the topology"):
        await app.wait_ended()
    name = f"{instances.application}-by-word-repartition"
    assert name not in await instances.admin.list_topics()
