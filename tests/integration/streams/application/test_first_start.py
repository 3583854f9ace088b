"""An application that begins to read where records are gone says so: its results are short, and nothing else would tell why."""

from __future__ import annotations

import pytest

from millstream.clients import Producer
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder
from millstream.streams.serdes import string
from tests.integration.streams.application.instances import Instances

WORDS = [f"w{number % 7}" for number in range(100)]


def told(caplog: pytest.LogCaptureFixture, of: str) -> list[str]:
    messages = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    return sorted(each for each in messages if of in each and "the first that is there" in each)


async def test_records_that_were_deleted_before_the_first_start_are_told_once_with_their_number(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    await instances.put(WORDS)
    gone = {TopicPartition(instances.source, 0): 3, TopicPartition(instances.source, 2): 5}
    (await instances.admin.delete_records(gone)).raise_errors()
    async with instances.new():
        await instances.until_written(len(WORDS) - 8)
    assert told(caplog, instances.source) == [
        f"task 0_{partition} begins at offset {offset} of {instances.source}-{partition}, "
        f"the first that is there: what was before it, {offset} offsets, was deleted by retention or by hand, "
        "and is not in its results"
        for partition, offset in ((0, 3), (2, 5))
    ]
    caplog.clear()
    async with instances.new():
        await instances.put(["w1", "w2", "w3"])
        await instances.until_written(len(WORDS) - 8 + 3)
    assert told(caplog, instances.source) == []


async def test_records_of_a_global_table_that_are_gone_are_told(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    rates = f"{instances.application}-rates"
    await instances.create(rates, partitions=1)
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for number in range(3):
            await producer.send(rates, b"1", key=str(number).encode())
    (await instances.admin.delete_records({TopicPartition(rates, 0): 2})).raise_errors()
    builder = StreamsBuilder()
    table = builder.global_table(rates, key=string(), value=string())
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.join(table, lambda value, rate: value + rate, on=lambda key, _: key).to(instances.sink)
    async with instances.new(builder.build()):
        assert len(told(caplog, f"{rates}-0")) == 1
        assert "offset 2 of" in told(caplog, rates)[0]
