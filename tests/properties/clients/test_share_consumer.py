"""Share consumers' core against the broker's share partition, through lost messages, crashes and locks that run out.

What was accepted and confirmed is never handed out again, nothing is lost, and delivery counts rise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.broker.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionKey,
    ShareSessionPartition,
    ShareSessions,
)
from millstream.clients.cluster.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.share.core.buffer import ShareBuffer
from millstream.clients.share.core.fetch_planner import ShareFetchPlanner
from millstream.clients.share.core.in_flight_records import ShareInFlightRecords
from millstream.clients.share.core.planned_requests import PlannedShareFetch, PlannedShareRequest
from millstream.clients.share.core.requests import SharePolicy
from millstream.clients.share.core.values import TopicIdPartition
from millstream.coordinator.share.state import ShareState
from millstream.coordinator.share_partition.acknowledgement import AcknowledgementBatch
from millstream.coordinator.share_partition.acquisition import (
    AcquireRequest,
    Fetched,
    InclusiveRange,
    SharePartitionLimits,
)
from millstream.coordinator.share_partition.share_partition import SharePartition
from millstream.errors import KafkaError, NetworkException
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.net.client.core.outages import Backoff
from millstream.protocol.enums import AcknowledgeType
from millstream.protocol.generated import share_acknowledge, share_fetch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.testing.sim_random import SimRandom

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
PARTITION = TopicIdPartition(Uuid(b"t" * 16), "t", 0)
SESSION_PARTITION = ShareSessionPartition(PARTITION.topic_id, 0)
CLUSTER = ClusterMetadata(
    nodes={1: BrokerNode(1, Address("h", 1))},
    topics={"t": TopicMetadata("t", PARTITION.topic_id, partitions={0: PartitionMetadata(0, 1)})},
)
LOCK_MS = 1_000
LIMITS = SharePartitionLimits(
    record_locks_max=50, delivery_count_max=1_000, lock_duration_ms=LOCK_MS
)
NEW = ShareState(
    snapshot_epoch=0, state_epoch=1, leader_epoch=0, start_offset=0,
    delivery_complete_count=0, created_ms=0, written_ms=0,
)  # fmt: skip
ShareRequest = share_fetch.ShareFetchRequest | share_acknowledge.ShareAcknowledgeRequest
ShareResponse = share_fetch.ShareFetchResponse | share_acknowledge.ShareAcknowledgeResponse


class SimBroker:
    """One share partition, with sessions. A crash forgets both, but not what was stored."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.log: list[tuple[InclusiveRange, bytes]] = []
        self.stored = NEW
        self.deliveries: dict[int, int] = {}
        """The last delivery count of each record since the last crash."""
        self.crash()

    def crash(self) -> None:
        self.partition = SharePartition(self.stored, self.stored.start_offset, leader_epoch=0)
        self.sessions = ShareSessions(10)
        self.deliveries.clear()

    def produce(self, count: int) -> None:
        first = self.end
        rows = [Record(first + row, 7, None, b"%d" % (first + row)) for row in range(count)]
        batch = bytes(build_batch(rows, BatchOptions(base_offset=first)))
        self.log.append((InclusiveRange(first, first + count - 1), batch))

    @property
    def end(self) -> int:
        return self.log[-1][0].last + 1 if self.log else 0

    def pass_time(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self._store(self.partition.release_expired(LIMITS, self.now_ms))

    def lose_connection(self, member_id: str) -> None:
        if self.sessions.close(SessionKey("g", member_id)) is not None:
            self._release(member_id)

    def handle(self, request: ShareRequest) -> ShareResponse:
        if isinstance(request, share_fetch.ShareFetchRequest):
            return self._fetch(request)
        return self._acknowledge(request)

    def _fetch(self, request: share_fetch.ShareFetchRequest) -> share_fetch.ShareFetchResponse:
        assert request.member_id is not None
        key = SessionKey("g", request.member_id)
        said = [batch for topic in request.topics for p in topic.partitions
                for batch in p.acknowledgement_batches]  # fmt: skip
        try:
            if request.share_session_epoch == INITIAL_EPOCH:
                self.sessions.open(
                    key, hash(key), [(SESSION_PARTITION, "t")], has_acknowledgements=bool(said)
                )
            else:
                self.sessions.proceed(key, request.share_session_epoch)
        except KafkaError as error:
            return share_fetch.ShareFetchResponse(error_code=error.code)
        data = share_fetch.PartitionData(partition_index=0, records=b"")
        data.acknowledge_error_code = self._apply(key.member_id, said, request.is_renew_ack)
        if request.max_records:
            self._acquire(key.member_id, request, data)
        return share_fetch.ShareFetchResponse(
            acquisition_lock_timeout_ms=LOCK_MS,
            responses=[share_fetch.ShareFetchableTopicResponse(PARTITION.topic_id, [data])],
        )

    def _acknowledge(
        self, request: share_acknowledge.ShareAcknowledgeRequest
    ) -> share_acknowledge.ShareAcknowledgeResponse:
        assert request.member_id is not None
        key = SessionKey("g", request.member_id)
        try:
            if request.share_session_epoch == FINAL_EPOCH:
                self.sessions.find(key)
            else:
                self.sessions.proceed(key, request.share_session_epoch)
        except KafkaError as error:
            return share_acknowledge.ShareAcknowledgeResponse(error_code=error.code)
        said = [batch for topic in request.topics for p in topic.partitions
                for batch in p.acknowledgement_batches]  # fmt: skip
        code = self._apply(key.member_id, said, request.is_renew_ack)
        if request.share_session_epoch == FINAL_EPOCH:
            self.lose_connection(key.member_id)
        data = share_acknowledge.PartitionData(0, code)
        return share_acknowledge.ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=LOCK_MS,
            responses=[share_acknowledge.ShareAcknowledgeTopicResponse(PARTITION.topic_id, [data])],
        )

    def _apply(self, member_id: str, said: list, renews: bool) -> int:  # type: ignore[type-arg]  # either message's
        batches = [
            AcknowledgementBatch(b.first_offset, b.last_offset, list(b.acknowledge_types))
            for b in said
        ]
        assert renews == any(RENEW in batch.types for batch in batches)
        try:
            transition = self.partition.acknowledge(member_id, batches, LIMITS, self.now_ms)
        except KafkaError as error:
            return error.code
        self._store(transition.state_batches)
        self.partition.settle(transition, stored=True)
        return 0

    def _acquire(
        self,
        member_id: str,
        request: share_fetch.ShareFetchRequest,
        data: share_fetch.PartitionData,
    ) -> None:
        at = self.partition.next_fetch_offset
        read = [(offsets, batch) for offsets, batch in self.log if offsets.last >= at]
        wanted = AcquireRequest(member_id, request.max_records, request.batch_size, False, LIMITS)
        fetched = Fetched(at, [offsets for offsets, _ in read])
        acquired = self.partition.acquire(wanted, fetched, self.now_ms)
        data.records = b"".join(batch for _, batch in read)
        data.acquired_records = [share_fetch.AcquiredRecords(*each) for each in acquired]
        for first, last, count in acquired:
            for offset in range(first, last + 1):
                assert count == self.deliveries.get(offset, count - 1) + 1
                self.deliveries[offset] = count

    def _release(self, member_id: str) -> None:
        transition = self.partition.release_member(member_id, LIMITS)
        self._store(transition.state_batches)
        self.partition.settle(transition, stored=True)

    def _store(self, batches: list) -> None:  # type: ignore[type-arg]  # of StateBatch
        self.stored = self.stored.changed(self.partition.state_change(batches))


@dataclass
class SimMember:
    """As ShareConsumer in explicit mode, without waiting."""

    name: str
    in_hand: ShareInFlightRecords = field(default_factory=ShareInFlightRecords)
    buffer: ShareBuffer = field(default_factory=ShareBuffer)
    in_flight: list[PlannedShareRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        backoff = Backoff(10, 50)
        policy = SharePolicy("g", self.name)
        self.fetcher = ShareFetchPlanner(policy, self.buffer, backoff, SimRandom(0))

    def send(self, now_ms: int) -> None:
        self.in_flight += self.fetcher.plan([PARTITION], CLUSTER, now_ms)


class Simulation:
    def __init__(self) -> None:
        self.broker = SimBroker()
        self.members: list[SimMember] = []
        self.crashed = 0
        for _ in range(2):
            self.add_member()
        self.accepted: set[int] = set()
        """Sent as accepted or rejected, whatever came of it."""
        self.confirmed: set[int] = set()
        """Accepted or rejected, and the broker has said so."""

    def add_member(self) -> None:
        self.members.append(SimMember(f"member-{len(self.members)}-{self.crashed}"))

    def poll(self, number: int, count: int) -> None:
        member = self.members[number]
        self.hear(member)
        if member.in_hand.unacknowledged() is not None:
            return
        said = member.in_hand.take_acknowledgements()
        member.in_hand.take_renewed()
        if not member.in_hand.records() and not member.in_hand.is_renewing:
            member.buffer.collect(member.in_hand, count, None)
        records = member.in_hand.records()
        if records:
            member.fetcher.commit(said, CLUSTER, self.broker.now_ms + 10_000)
        else:
            member.fetcher.fetch(said, count)
        for record in records:
            assert record.value == b"%d" % record.offset

    def acknowledge(self, number: int, kinds: list[AcknowledgeType]) -> None:
        member = self.members[number]
        for record in member.in_hand.records():
            kind = kinds[record.offset % len(kinds)]
            member.in_hand.acknowledge("t", 0, record.offset, kind)
            if kind in (ACCEPT, REJECT):
                self.accepted.add(record.offset)

    def work(self, number: int, kinds: list[AcknowledgeType], fault: str) -> None:
        """A turn of a consumer's loop, and a request on its way."""
        self.poll(number, len(kinds))
        self.acknowledge(number, kinds)
        self.exchange(number, fault)

    def commit(self, number: int) -> None:
        member = self.members[number]
        self.hear(member)
        said = member.in_hand.take_acknowledgements()
        member.fetcher.commit(said, CLUSTER, self.broker.now_ms + 10_000)

    def exchange(self, number: int, fault: str) -> None:
        member = self.members[number]
        member.send(self.broker.now_ms)
        if not member.in_flight:
            return
        planned = member.in_flight.pop(0)
        if fault == "request lost":
            self.fail(member, planned)
            return
        response = self.broker.handle(planned.request)
        self.check_nothing_finished(response)
        if fault == "answer lost":
            self.fail(member, planned)
        elif fault == "answer lost, connection with it":
            self.broker.lose_connection(member.name)
            self.fail(member, planned)
        elif isinstance(planned, PlannedShareFetch):
            assert isinstance(response, share_fetch.ShareFetchResponse)
            member.fetcher.handle_fetch(planned, response, self.broker.now_ms)
        else:
            assert isinstance(response, share_acknowledge.ShareAcknowledgeResponse)
            member.fetcher.handle_acknowledge(planned, response, self.broker.now_ms)
        self.hear(member)

    def check_nothing_finished(self, response: ShareResponse) -> None:
        """What was acquired earlier may still be on its way to the application: its lock has run out, or the broker crashed."""
        for topic in response.responses:
            for partition in topic.partitions:
                for acquired in getattr(partition, "acquired_records", ()):
                    offsets = set(range(acquired.first_offset, acquired.last_offset + 1))
                    assert not offsets & self.confirmed, f"{offsets & self.confirmed} were finished"

    def fail(self, member: SimMember, planned: PlannedShareRequest) -> None:
        member.fetcher.handle_failure(planned, NetworkException(), self.broker.now_ms)

    def hear(self, member: SimMember) -> None:
        while (outcome := member.fetcher.outcomes.take()) is not None:
            member.in_hand.handle_outcome(outcome)
            if outcome.error is None:
                self.confirmed |= {
                    offset
                    for offset, kind in outcome.acknowledgements.items()
                    if kind in (ACCEPT, REJECT)
                }

    def crash_member(self, number: int, *, noticed: bool) -> None:
        if noticed:
            self.broker.lose_connection(self.members[number].name)
        self.crashed += 1
        self.members[number] = SimMember(f"member-{number}-{self.crashed}")

    def finish(self) -> None:
        """Without faults everything is worked off."""
        for _ in range(200):
            if self.broker.partition.start_offset == self.broker.end:
                return
            for number in range(len(self.members)):
                self.poll(number, 10)
                self.acknowledge(number, [ACCEPT])
                self.exchange(number, "none")
            self.broker.pass_time(100)
        raise AssertionError(f"stuck at {self.broker.partition.start_offset} of {self.broker.end}")


MEMBER = st.integers(0, 1)
KINDS = st.lists(st.sampled_from([ACCEPT, ACCEPT, RELEASE, REJECT, RENEW]), min_size=1, max_size=4)
FAULTS = st.sampled_from(
    ["none"] * 4 + ["request lost", "answer lost", "answer lost, connection with it"]
)
EVENTS = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 6)),
    st.tuples(st.just("work"), MEMBER, KINDS, FAULTS),
    st.tuples(st.just("work"), MEMBER, KINDS, FAULTS),
    st.tuples(st.just("work"), MEMBER, KINDS, FAULTS),
    st.tuples(st.just("acknowledge"), MEMBER, KINDS),
    st.tuples(st.just("exchange"), MEMBER, FAULTS),
    st.tuples(st.just("commit"), MEMBER),
    st.tuples(st.just("pass_time"), st.sampled_from([10, 60, 300, LOCK_MS])),
    st.tuples(st.just("crash_member"), MEMBER, st.booleans()),
    st.tuples(st.just("crash_broker")),
)


def play(simulation: Simulation, events: list[tuple[object, ...]]) -> None:
    for event in events:
        match event:
            case ("produce", int(count)):
                simulation.broker.produce(count)
            case ("pass_time", int(passed_ms)):
                simulation.broker.pass_time(passed_ms)
            case ("crash_broker",):
                simulation.broker.crash()
            case ("crash_member", int(number), bool(noticed)):
                simulation.crash_member(number, noticed=noticed)
            case (str(name), *arguments):
                getattr(simulation, name)(*arguments)


@settings(max_examples=60)
@given(st.lists(EVENTS, min_size=20, max_size=60))
def test_nothing_is_lost_and_nothing_finished_comes_again(
    events: list[tuple[object, ...]],
) -> None:
    simulation = Simulation()
    simulation.broker.produce(5)
    play(simulation, events)
    simulation.finish()
    assert simulation.accepted == set(range(simulation.broker.end)), "finished by us, or by nobody"
