"""A consumer's core against a naive model: whatever happens in between, records come in order, none twice, none left out.

One partition lives on a small cluster whose leaders change, cleanly or with a truncation, and whose logs have holes.
The consumer's core is driven as the edge drives it, in any order Hypothesis likes: fetches are planned, answered late,
lost, or answered by a broker that no longer leads; the application takes, seeks, pauses, and commits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millstream.clients.consumer.core.fetch_planner import PlannedFetch
from millstream.clients.consumer.core.offset_reset import EARLIEST_TIMESTAMP
from millstream.clients.consumer.core.positions import (
    EpochEndOffset,
    EpochQuery,
    PositionQuery,
    ResetQuery,
)
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import NetworkException
from millstream.model import TopicPartition
from millstream.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from tests.unit.clients.consumer.fetch_world import TOPIC_ID, World, batch

PARTITION = TopicPartition("t", 0)
OUT_OF_RANGE, NOT_LEADER, FENCED, UNKNOWN_EPOCH = 1, 6, 74, 75
NODES = (1, 2, 3)


@dataclass
class Batch:
    base_offset: int
    values: list[bytes]
    epoch: int

    @property
    def end(self) -> int:
        return self.base_offset + len(self.values)


@dataclass
class Log:
    """What the leader has, and under which epoch it leads."""

    leader: int = 1
    epoch: int = 0
    start: int = 0
    batches: list[Batch] = field(default_factory=list)
    end: int = 0

    def append(self, values: list[bytes], hole: int) -> None:
        """A hole is what compaction leaves."""
        self.batches.append(Batch(self.end + hole, values, self.epoch))
        self.end += hole + len(values)

    def elect(self, leader: int, cut_to: int) -> None:
        self.leader, self.epoch = leader, self.epoch + 1
        self.batches = [b for b in self.batches if b.end <= cut_to]
        self.end = max(self.start, self.batches[-1].end if self.batches else self.start)

    def at(self, offset: int) -> dict[int, bytes]:
        return {
            b.base_offset + n: value
            for b in self.batches
            for n, value in enumerate(b.values)
            if b.base_offset + n >= max(offset, self.start)
        }

    def epoch_end(self, epoch: int) -> EpochEndOffset:
        """The largest epoch up to `epoch` that has records, and where it ends."""
        known = [b for b in self.batches if b.epoch <= epoch]
        if not known:
            return EpochEndOffset(-1, -1)
        later = [b for b in self.batches if b.epoch > epoch]
        end = later[0].base_offset if later else self.end
        return EpochEndOffset(known[-1].epoch, end)


class ConsumerCore(RuleBasedStateMachine):
    @initialize(reset=st.sampled_from(["earliest", "latest"]))
    def start(self, reset: str) -> None:
        self.world = World(reset=reset, partition_bytes=300)
        self.log = Log()
        self.fetches: list[PlannedFetch] = []
        self.queries: list[PositionQuery] = []
        self.taken: dict[int, bytes] = {}
        """By offset, since the position was last set by anything but reading."""
        self.reading_from: int | None = 0
        self.numbers = 0
        for _ in range(4):
            self.produce(3, 0)
        self.learn()

    # ---- the cluster

    @rule(count=st.integers(1, 4), hole=st.sampled_from([0, 0, 0, 2]))
    def produce(self, count: int, hole: int) -> None:
        self.numbers += 1
        self.log.append([b"%d.%d" % (self.numbers, n) for n in range(count)], hole)

    @rule(leader=st.sampled_from(NODES))
    def change_leader(self, leader: int) -> None:
        self.log.elect(leader, self.log.end)

    @rule(leader=st.sampled_from(NODES), lost=st.integers(1, 5), regrown=st.integers(0, 8))
    def elect_unclean(self, leader: int, lost: int, regrown: int) -> None:
        """The log loses its end; it may be as long as before when the consumer looks again."""
        self.log.elect(leader, max(self.log.start, self.log.end - lost))
        if regrown:
            self.produce(regrown, 0)

    @rule()
    def learn(self) -> None:
        """Metadata comes in."""
        self.world.lead(self.log.leader, epoch=self.log.epoch)
        self.world.fetcher.handle_metadata()

    # ---- the edge

    @rule(count=st.integers(1, 12))
    def poll_undisturbed(self, count: int) -> None:
        """Most of the time nothing happens in between."""
        self.learn()
        self.plan()
        while self.queries:
            self.answer_query(lost=False)
        while self.fetches:
            self.answer(self.fetches.pop(0))
        self.take(count)

    @rule()
    def plan(self) -> None:
        self.queries += self.world.positions.plan(self.world.cluster)
        self.fetches += self.world.plan()

    @precondition(lambda self: self.fetches)
    @rule(data=st.data())
    def answer_fetch(self, data: st.DataObject) -> None:
        planned = data.draw(st.sampled_from(self.fetches))
        self.fetches.remove(planned)
        self.answer(planned)

    @precondition(lambda self: self.fetches)
    @rule()
    def lose_fetch(self) -> None:
        self.world.lose(self.fetches.pop(), NetworkException())

    @precondition(lambda self: self.queries)
    @rule(lost=st.booleans())
    def answer_query(self, *, lost: bool) -> None:
        query = self.queries.pop(0)
        positions = self.world.positions
        if lost:
            positions.handle_failure(query, NetworkException())
        elif isinstance(query, ResetQuery):
            timestamp = query.resets[PARTITION].timestamp
            offset = self.log.start if timestamp == EARLIEST_TIMESTAMP else self.log.end
            positions.handle_offsets(query, {PARTITION: OffsetAndTimestamp(offset, -1)})
        elif isinstance(query, EpochQuery):
            asked = query.questions[PARTITION]
            if query.node_id == self.log.leader and asked.current_leader_epoch == self.log.epoch:
                end = self.log.epoch_end(asked.leader_epoch)
                positions.handle_epochs(query, {PARTITION: end})
            else:
                positions.handle_failure(query, NetworkException())
        positions.finish(query)
        self.note_reset()

    def answer(self, planned: PlannedFetch) -> None:
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[self.fetched(planned)])
        self.world.respond(planned, FetchResponse(session_id=0, responses=[topic]))
        self.note_reset()

    def fetched(self, planned: PlannedFetch) -> PartitionData:
        position = planned.plan.fetch[PARTITION]
        answer = PartitionData(partition_index=0, high_watermark=self.log.end)
        if planned.node_id != self.log.leader:
            answer.error_code = NOT_LEADER
            answer.current_leader = LeaderIdAndEpoch(self.log.leader, self.log.epoch)
        elif position.leader_epoch < self.log.epoch:
            answer.error_code = FENCED
        elif position.leader_epoch > self.log.epoch:
            answer.error_code = UNKNOWN_EPOCH
        elif not self.log.start <= position.offset <= self.log.end:
            answer.error_code = OUT_OF_RANGE
        else:
            wanted = [b for b in self.log.batches if b.end > position.offset][:3]
            encoded = [batch(b.base_offset, *b.values, leader_epoch=b.epoch) for b in wanted]
            answer.records = memoryview(b"".join(encoded))
        return answer

    # ---- the application

    @rule(count=st.integers(1, 5))
    def take(self, count: int) -> None:
        state = self.world.state()
        for record in self.world.records.take(count):
            assert not state.paused, "nothing is returned of a paused partition"
            assert self.reading_from is not None
            assert record.offset >= self.reading_from
            assert record.offset not in self.taken, "a record is returned once"
            assert all(record.offset > offset for offset in self.taken), "in order"
            assert record.value is not None
            self.taken[record.offset] = record.value
        self.world.records.raise_error()

    @rule(offset=st.integers(0, 30))
    def seek(self, offset: int) -> None:
        offset = min(offset, self.log.end)
        self.world.state().seek(offset)
        self.reading_from, self.taken = offset, {}

    @rule(paused=st.booleans())
    def pause(self, *, paused: bool) -> None:
        self.world.state().paused = paused

    def note_reset(self) -> None:
        """The position went elsewhere: where a reset said, or to the end of what a truncation left."""
        position = self.world.state().position
        if position is None:
            self.reading_from, self.taken = None, {}
        elif self.reading_from is None:
            self.reading_from = position
        else:
            self.reading_from = min(self.reading_from, position)
            self.taken = {offset: v for offset, v in self.taken.items() if offset < position}

    # ---- what must hold

    @invariant()
    def positions_are_behind_what_was_returned(self) -> None:
        position = self.world.state().position
        if position is not None:
            assert all(offset < position for offset in self.taken)

    def teardown(self) -> None:
        """Left alone for a while, the consumer has read exactly the log that there is."""
        if not hasattr(self, "world"):
            return
        self.world.state().paused = False
        rounds = 0
        while self.world.state().position != self.log.end or rounds < 2:
            rounds += 1
            assert rounds < 60, f"stuck at {self.world.state().position} of {self.log.end}"
            self.poll_undisturbed(20)
        assert self.reading_from is not None
        assert self.taken == self.log.at(self.reading_from)


ConsumerCore.TestCase.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
TestConsumerCore = ConsumerCore.TestCase
