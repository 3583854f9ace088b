"""Global stores of a process: filled from all partitions, brought up to date before every run, gone on with after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.clients import Producer
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder
from millstream.streams.errors import ProcessingError
from millstream.streams.processor import ProcessorContext, Record
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from millstream.streams.topology import StoreKind, StoreSpec, Topology
from tests.integration.streams.runtime.world import World


class Keep:
    """Keeps names with the partition that they come from; refuses `bad`."""

    def init(self, context: ProcessorContext) -> None:
        self.context, self.names = context, context.store("names")

    def process(self, record: Record[str, str]) -> None:
        if record.value == "bad":
            raise ValueError("no such name")
        place = self.context.record_metadata()
        self.names.put(record.key, f"{record.value} of {place.partition}")


class LookUp:
    def init(self, context: ProcessorContext) -> None:
        self.context, self.names = context, context.store("names")

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(f"{record.value}={self.names.get(record.value)}"))


def joined(source: str, names: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    table = builder.global_table(names, key=string(), value=string())
    stream = builder.stream(source, key=string(), value=string())
    with_names = stream.left_join(
        table, lambda value, name: f"{value}={name}", on=lambda _, value: value
    )
    with_names.to(sink, key=string(), value=string())
    return builder.build()


def looked_up(source: str, names: str, sink: str) -> Topology:
    store = StoreSpec("names", StoreKind.KEY_VALUE, key=string(), value=string(), logging=False)
    builder = StreamsBuilder()
    builder.add_global_store(store, names, Keep, key=string(), value=string())
    stream = builder.stream(source, key=string(), value=string())
    stream.process(LookUp).to(sink, key=string(), value=string())
    return builder.build()


class Names:
    """An application with a global topic of two partitions, as one process runs it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.topic = f"{world.application}-names"
        world.topology = joined(world.source, self.topic, world.sink)
        self.stores: GlobalStores | None = None

    async def put(self, partition: int, **names: str | None) -> None:
        async with Producer(bootstrap_servers=self.world.servers) as producer:
            for key, name in names.items():
                value = None if name is None else name.encode()
                await producer.send(self.topic, value, key=key.encode(), partition=partition)

    @property
    def sub_topology(self) -> int:
        groups = self.world.topology.sub_topologies
        return next(group.id for group in groups if not group.is_global)

    async def open(self) -> ActiveTask:
        world = self.world
        spec = world.spec(self.sub_topology)
        self.stores = await GlobalStores.open(spec, world.environment())
        return await TaskStart(spec, 0, world.environment(), self.stores).start()

    async def run(self, task: ActiveTask) -> None:
        await task.run(await self.world.ends([self.world.source]))

    async def close(self, task: ActiveTask) -> None:
        await task.close()
        assert self.stores is not None
        await self.stores.close()

    async def results(self) -> list[str]:
        return [row["value"].decode() async for row in self.world.records(self.world.sink)]

    def directories(self) -> list[str]:
        return sorted(path.name for path in Path(self.world.directory, "state/global").iterdir())


@pytest.fixture
async def names(world: World) -> Names:
    made = Names(world)
    await world.create(made.topic, partitions=2)
    return made


async def test_every_task_sees_all_partitions_as_they_are_at_its_run(names: Names) -> None:
    await names.put(0, a="anna")
    await names.put(1, b="bert")
    await names.world.put(["a", "b", "c"])
    task = await names.open()
    await names.run(task)
    await names.put(1, b="bea", c="carl")
    await names.put(0, a=None)
    await names.world.put(["a", "b", "c"])
    await names.run(task)
    await names.close(task)
    assert await names.results() == ["a=anna", "b=bert", "c=None", "a=None", "b=bea", "c=carl"]


async def test_a_restart_goes_on_where_the_store_is(names: Names) -> None:
    await names.put(0, a="anna", b="bert")
    task = await names.open()
    await names.close(task)
    (await names.world.admin.delete_records({TopicPartition(names.topic, 0): 1})).raise_errors()
    await names.put(0, c="carl")
    await names.world.put(["a", "c"])
    task = await names.open()
    await names.run(task)
    await names.close(task)
    assert await names.results() == ["a=anna", "c=carl"], "anna is in the store alone"
    assert names.directories() == ["0"]


async def test_a_topic_that_was_made_anew_is_read_anew(names: Names) -> None:
    await names.put(0, a="anna")
    await names.close(await names.open())
    (await names.world.admin.delete_topics([names.topic])).raise_errors()
    await names.world.create(names.topic, partitions=2)
    await names.put(0, b="bert")
    await names.world.put(["a", "b"])
    task = await names.open()
    await names.run(task)
    await names.close(task)
    assert await names.results() == ["a=None", "b=bert"]


@pytest.mark.parametrize("new", [{}, {"b": "bert", "c": "carl"}], ids=["empty", "longer"])
async def test_a_topic_that_was_made_anew_under_a_running_process_is_told(
    names: Names, new: dict[str, str]
) -> None:
    """Also where the new one is longer by the next look: its first records would be left out in silence."""
    await names.put(0, a="anna")
    task = await names.open()
    (await names.world.admin.delete_topics([names.topic])).raise_errors()
    await names.world.create(names.topic, partitions=2)
    await names.put(0, **new)
    with pytest.raises(DataLoss, match=r"was made anew. Start the application again"):
        await names.run(task)
    await names.close(task)


async def test_processes_of_one_machine_have_stores_of_their_own(names: Names) -> None:
    await names.put(0, a="anna")
    world = names.world
    spec = world.spec(names.sub_topology)
    one = await GlobalStores.open(spec, world.environment())
    two = await GlobalStores.open(spec, world.environment())
    assert names.directories() == ["0", "1"]
    await one.close()
    three = await GlobalStores.open(spec, world.environment())
    assert names.directories() == ["0", "1"], "what is free is used again"
    await two.close()
    await three.close()


async def test_a_processor_fills_a_store_record_by_record(names: Names) -> None:
    names.world.topology = looked_up(names.world.source, names.topic, names.world.sink)
    await names.put(0, a="anna")
    await names.put(1, b="bert")
    await names.world.put(["a", "b"])
    task = await names.open()
    await names.run(task)
    assert await names.results() == ["a=anna of 0", "b=bert of 1"]

    await names.put(1, c="carl", d="bad")
    with pytest.raises(ProcessingError, match=rf"{names.topic}-1 offset 2.*no such name"):
        await names.run(task)
    with pytest.raises(ProcessingError, match="no such name"):
        await names.run(task)  # it is not left out the second time
    await names.close(task)
