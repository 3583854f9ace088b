"""Records that a broker refuses: the production handler decides, and what is left is committed as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.clients import NewTopic
from millstream.errors import MessageTooLarge
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder
from millstream.streams.config import OnError, ProcessingGuarantee
from millstream.streams.errors import StreamsError
from millstream.streams.handlers import ErrorContext, OutgoingRecord
from millstream.streams.serdes import string
from tests.integration.streams.runtime.world import World

LARGE, LARGER = "l" * 2_000, "m" * 3_000


@pytest.fixture
async def copying(world: World) -> World:
    """Copies its source to a topic that takes records up to 1,000 bytes, and in capitals to the sink."""
    small = NewTopic(f"{world.application}-small", 1, configs={"max.message.bytes": "1000"})
    (await world.admin.create_topics([small])).raise_errors()
    await world.create(f"{world.application}-letters")
    builder = StreamsBuilder()
    stream = builder.stream(world.source, key=string(), value=string())
    stream.to(small.name, key=string(), value=string())
    stream.map_values(str.upper).to(world.sink, key=string(), value=string())
    world.topology = builder.build()
    world.config = replace(world.config, dead_letter_topic=f"{world.application}-letters")
    await world.put(["a", LARGE, "b", LARGER, "c"])
    return world


async def values(world: World, stem: str) -> list[bytes]:
    return [row["value"] async for row in world.records(f"{world.application}-{stem}")]


async def test_a_task_stops_where_the_handler_says_so_and_nothing_is_seen(copying: World) -> None:
    with pytest.raises(StreamsError, match=rf"topic {copying.application}-small refused a record"):
        await copying.run(0)
    assert await values(copying, "small") == await values(copying, "out") == []
    assert await copying.committed() == {}


@pytest.mark.parametrize("guarantee", list(ProcessingGuarantee))
async def test_what_the_handler_leaves_out_is_not_written_and_all_else_is(
    copying: World, guarantee: ProcessingGuarantee
) -> None:
    copying.guarantee(guarantee)
    copying.config = replace(copying.config, on_production_error=OnError.CONTINUE)
    report = await copying.run(0)
    assert (report.read, report.written, report.dropped) == (5, 3 + 5 + 2, 2)
    everything = [value.upper().encode() for value in ("a", LARGE, "b", LARGER, "c")]
    if guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2:
        assert await values(copying, "small") == [b"a", b"b", b"c"]
        assert await values(copying, "out") == everything
        assert len(await values(copying, "letters")) == 2
    else:
        assert set(await values(copying, "small")) == {b"a", b"b", b"c"}
        assert set(await values(copying, "out")) == set(everything)
    assert await copying.committed() == {TopicPartition(copying.source, 0): 5}
    assert (await copying.run(0)).read == 0


async def test_the_handler_is_given_the_record_and_the_error(copying: World) -> None:
    asked: list[tuple[str, int, type[Exception]]] = []

    def handler(
        _: ErrorContext, record: OutgoingRecord, error: Exception, _half: object
    ) -> OnError:
        assert isinstance(record.value, bytes)
        asked.append((record.topic, len(record.value), type(error)))
        return OnError.CONTINUE

    copying.config = replace(copying.config, on_production_error=handler)
    await copying.run(0)
    small = f"{copying.application}-small"
    assert asked == [(small, 2_000, MessageTooLarge), (small, 3_000, MessageTooLarge)]


def huge(world: World) -> None:
    """Makes the topology write what is larger than the producer's max.request.size."""
    builder = StreamsBuilder()
    stream = builder.stream(world.source, key=string(), value=string())
    stream.map_values(lambda value: value * 1_000).to(world.sink, key=string(), value=string())
    world.topology = builder.build()
    world.config = replace(world.config, on_production_error=OnError.CONTINUE)


async def test_a_record_that_the_producer_itself_refuses_is_asked_about_too(copying: World) -> None:
    huge(copying)
    copying.config = replace(copying.config, dead_letter_topic=None)
    report = await copying.run(0)
    assert (report.written, report.dropped) == (3, 2)
    assert await values(copying, "out") == [b"a" * 1_000, b"b" * 1_000, b"c" * 1_000]


async def test_a_dead_letter_that_is_refused_stops_the_task(copying: World) -> None:
    huge(copying)
    with pytest.raises(StreamsError, match=r"-letters refused a dead letter of a record"):
        await copying.run(0)
