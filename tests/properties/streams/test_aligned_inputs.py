"""A task takes the records of several inputs by origin time, and none that a repartition topic may still get an earlier one before."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.streams import OnError, StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.kernel.columns.origins import OriginBatch
from millstream.streams.kernel.task.output import PreparedCommit
from millstream.streams.kernel.task.upstreams import AT_ITS_END
from millstream.streams.serdes import long, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology.alignment import AlignedTopics

EXTERNAL = "m"
ALIGNED = ("a", "z")
UPSTREAMS = range(2)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add a", "add m", "add z", "tell", "process", "commit", "restart"]),
        st.integers(0, 5),
    ),
    max_size=50,
)


@dataclass(frozen=True, order=True)
class Record:
    """Ordered as it is to go on. Records of an external topic have upstream 0."""

    time: int
    topic: str
    upstream: int
    offset: int
    is_readable: bool = True

    @property
    def value(self) -> bytes:
        """A number; one of another length cannot be read."""
        return self.number.to_bytes(8) if self.is_readable else b"short"

    @property
    def number(self) -> int:
        return ord(self.topic) * 1_000 + self.offset


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for topic in (*ALIGNED, EXTERNAL):
        writers = draw(
            st.lists(st.sampled_from(UPSTREAMS if topic in ALIGNED else [0]), max_size=8)
        )
        reached = [0, 0]
        found[topic] = []
        for offset, writer in enumerate(writers):
            reached[writer] += draw(st.integers(0, 3))
            is_readable = draw(st.integers(0, 4)) > 0
            found[topic].append(Record(reached[writer], topic, writer, offset, is_readable))
    return found


@dataclass
class Runner:
    """Feeds a task, commits what it has done and starts it anew where it had committed."""

    inputs: dict[str, list[Record]]
    as_lists: bool = False
    task: StreamTask = field(init=False)
    read: dict[str, int] = field(default_factory=dict)
    processed: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    prepared: PreparedCommit | None = None

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        builder = StreamsBuilder()
        stream = builder.stream("z").merge(builder.stream(EXTERNAL)).merge(builder.stream("a"))
        stream.to("out")
        config = StreamsConfig(
            "app",
            string(),
            long(),
            on_deserialization_error=OnError.CONTINUE,
            batch_records_max=1 if self.as_lists else 1_000,
        )
        topics = TaskTopics(aligned=AlignedTopics(read=frozenset(ALIGNED)))
        self.task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config, topics=topics)
        self.processed = []
        self.read = dict.fromkeys(self.inputs, 0)
        if self.prepared is not None:
            last = self.prepared
            self.read |= last.offsets
            held = {topic: (last.offsets[topic], each) for topic, each in last.held.items()}
            self.task.resume(last.partition_times, origin_time=last.origin_time, held=held)

    def step(self, kind: str, number: int) -> None:
        match kind.split():
            case ["add", topic]:
                self.add(topic, number)
            case ["tell"]:
                self.tell(number)
            case ["process"]:
                self.process(number)
            case ["commit"]:
                self.commit()
            case _:
                self.restart()

    def add(self, topic: str, number: int) -> None:
        rows = self.inputs[topic][self.read[topic] : self.read[topic] + number]
        self.read[topic] += len(rows)
        if rows:
            self.task.add(topic, batch_of(rows, is_aligned=topic in ALIGNED))

    def tell(self, vague: int) -> None:
        for topic in ALIGNED:
            left = self.inputs[topic][self.read[topic] :]
            exact = {
                upstream: min((r.time for r in left if r.upstream == upstream), default=AT_ITS_END)
                for upstream in UPSTREAMS
            }
            self.task.inputs.upstreams_of(topic).expect(
                {n: at if at == AT_ITS_END else at - vague for n, at in exact.items()}
            )

    def process(self, records_max: int) -> None:
        lags = {topic: len(rows) - self.read[topic] for topic, rows in self.inputs.items()}
        output = self.task.process(0, records_max, lags=lags)
        if "out" in output.sinks:
            self.processed += [int.from_bytes(each or b"") for each in output.sinks["out"].values]

    def commit(self) -> None:
        self.prepared = self.task.prepare_commit()
        self.task.commit()
        self.committed += self.processed
        self.processed = []

    def finish(self) -> list[int]:
        for topic, rows in self.inputs.items():
            self.add(topic, len(rows))
        self.tell(0)
        self.process(1_000)
        self.commit()
        return self.committed


def batch_of(rows: list[Record], *, is_aligned: bool) -> RawBatch | OriginBatch:
    times = [each.time for each in rows]
    offsets = [each.offset for each in rows]
    values: list[bytes | None] = [each.value for each in rows]
    if not is_aligned:
        return RawBatch([None] * len(rows), values, times, offsets)
    return OriginBatch(
        [None] * len(rows),
        values,
        timestamps=np.array(times, np.int64),
        offsets=np.array(offsets, np.int64),
        upstreams=np.array([each.upstream for each in rows], np.int64),
        origin_times=np.array(times, np.int64),
    )


@given(inputs(), STEPS, st.booleans())
def test_records_of_several_inputs_go_on_by_origin_time_then_topic_then_upstream_task(
    records: dict[str, list[Record]], steps: list[tuple[str, int]], as_lists: bool
) -> None:
    expected = [
        each.number
        for each in sorted(each for rows in records.values() for each in rows)
        if each.is_readable
    ]
    runner = Runner(records, as_lists=as_lists)
    for kind, number in steps:
        runner.step(kind, number)
        found = [*runner.committed, *runner.processed]
        assert found == expected[: len(found)]
    assert runner.finish() == expected
    assert all(
        runner.task.inputs.next_offsets.get(topic) in {None, len(rows)}
        for topic, rows in records.items()
    )
