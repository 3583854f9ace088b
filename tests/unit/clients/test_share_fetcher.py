"""Which share requests go out, and what their answers mean for records and acknowledgements."""

from __future__ import annotations

import pytest

from millstream.clients.core.addresses import Address
from millstream.clients.core.backoff import Backoff
from millstream.clients.core.cluster_metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.core.share_buffer import ShareBuffer
from millstream.clients.core.share_fetcher import ShareFetcher
from millstream.clients.core.share_in_hand import InHand
from millstream.clients.core.share_intent import AcknowledgeIntent, FetchIntent, ShareIntent
from millstream.clients.core.share_requests import SharePolicy
from millstream.clients.core.share_values import (
    AcknowledgeType,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    GroupAuthorizationFailed,
    InvalidRecordState,
    InvalidShareSessionEpoch,
    KafkaError,
    NetworkException,
    NotLeaderOrFollower,
    RequestTimedOut,
    ShareSessionLimitReached,
    ShareSessionNotFound,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnknownTopicId,
)
from millstream.model import TopicPartition, Uuid
from millstream.protocol.generated import share_acknowledge, share_fetch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.testing.sim_random import SimRandom

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
TOPIC_ID = Uuid(b"t" * 16)
P0, P1, P2 = (TopicIdPartition(TOPIC_ID, "t", number) for number in range(3))
FOREVER_MS = 10**9
Range = tuple[int, int, int]


class World:
    """Topic `t`; partition n is led by `leaders[n]` and assigned."""

    def __init__(self, *leaders: int, record_limit: bool = False) -> None:
        self.buffer = ShareBuffer()
        policy = SharePolicy("g", "m", 1, 500, 10_000, record_limit)
        self.fetcher = ShareFetcher(policy, self.buffer, Backoff(100, 1_000), SimRandom(0))
        self.in_hand = InHand()
        self.now_ms = 0
        self.lead(*(leaders or (1,)))
        self.assigned = [TopicIdPartition(TOPIC_ID, "t", p) for p in range(len(leaders or (1,)))]

    def lead(self, *leaders: int) -> None:
        partitions = {p: PartitionMetadata(p, n, 4) for p, n in enumerate(leaders)}
        self.cluster = ClusterMetadata(
            nodes={node: BrokerNode(node, Address("h", node)) for node in (1, 2, 3)},
            topics={"t": TopicMetadata("t", TOPIC_ID, partitions=partitions)},
        )

    def plan(self) -> list[ShareIntent]:
        return self.fetcher.plan(self.assigned, self.cluster, self.now_ms)

    def fetches(self) -> list[FetchIntent]:
        intents = self.plan()
        assert all(isinstance(intent, FetchIntent) for intent in intents)
        return [intent for intent in intents if isinstance(intent, FetchIntent)]

    def fetch(self) -> FetchIntent:
        (intent,) = self.fetches()
        return intent

    def want(self, *said: NodeAcknowledgements, count: int = 10) -> None:
        self.fetcher.fetch(said, count)

    def answer(
        self,
        intent: FetchIntent,
        *partitions: share_fetch.PartitionData,
        error: type[KafkaError] | None = None,
        lock_ms: int = 30_000,
    ) -> None:
        response = share_fetch.ShareFetchResponse(
            error_code=error.code if error else 0,
            acquisition_lock_timeout_ms=lock_ms,
            responses=[share_fetch.ShareFetchableTopicResponse(TOPIC_ID, list(partitions))],
        )
        self.fetcher.handle_fetch(intent, response, self.now_ms)

    def open_session(self, *ranges: Range) -> None:
        """Of the one broker there is, with these records of partition 0."""
        self.want()
        self.answer(self.fetch(), data(0, *(ranges or ((0, 1, 1),))))

    def commit(self, *said: NodeAcknowledgements, deadline_ms: int = FOREVER_MS):
        return self.fetcher.commit(said, self.cluster, deadline_ms)

    def acknowledge(self) -> AcknowledgeIntent:
        (intent,) = self.plan()
        assert isinstance(intent, AcknowledgeIntent)
        return intent

    def answer_acknowledge(
        self,
        intent: AcknowledgeIntent,
        *codes: tuple[int, type[KafkaError] | None],
        error: type[KafkaError] | None = None,
        lock_ms: int = 0,
    ) -> None:
        partitions = [
            share_acknowledge.PartitionData(partition, each.code if each else 0)
            for partition, each in codes
        ]
        response = share_acknowledge.ShareAcknowledgeResponse(
            error_code=error.code if error else 0,
            acquisition_lock_timeout_ms=lock_ms,
            responses=[share_acknowledge.ShareAcknowledgeTopicResponse(TOPIC_ID, partitions)],
        )
        self.fetcher.handle_acknowledge(intent, response, self.now_ms)

    def collect(self, count: int = 500) -> list[tuple[int, int]]:
        """(partition, offset) of what a poll would return."""
        self.buffer.collect(self.in_hand, count, None)
        return [(record.partition, record.offset) for record in self.in_hand.records()]

    def outcomes(self) -> list[tuple[int, dict[int, int], type[KafkaError] | None]]:
        return [
            (each.partition.partition, each.acknowledgements, each.error and type(each.error))
            for each in iter(self.fetcher.outcomes.take, None)
        ]


def data(
    partition: int,
    *ranges: Range,
    error: type[KafkaError] | None = None,
    refused: type[KafkaError] | None = None,
) -> share_fetch.PartitionData:
    records = b""
    if ranges:
        first, last = ranges[0][0], ranges[-1][1]
        rows = [Record(offset, 7, None, b"x") for offset in range(first, last + 1)]
        records = bytes(build_batch(rows, BatchOptions(base_offset=first)))
    return share_fetch.PartitionData(
        partition_index=partition,
        error_code=error.code if error else 0,
        acknowledge_error_code=refused.code if refused else 0,
        records=records,
        acquired_records=[share_fetch.AcquiredRecords(*each) for each in ranges],
    )


def accepted(*offsets: int, node: int = 1, partition: TopicIdPartition = P0, kind: int = ACCEPT):
    return NodeAcknowledgements(node, partition, dict.fromkeys(offsets, kind))


def asked(intent: FetchIntent) -> list[int]:
    return [each.partition_index for topic in intent.request.topics for each in topic.partitions]


def told(intent: ShareIntent) -> dict[int, list[tuple[int, int, list[int]]]]:
    return {
        each.partition_index: [
            (b.first_offset, b.last_offset, list(b.acknowledge_types))
            for b in each.acknowledgement_batches
        ]
        for topic in intent.request.topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }


# ---- asking for records


def test_nothing_is_fetched_before_somebody_wants_records() -> None:
    assert World(1).plan() == []


def test_a_session_is_opened_with_every_leader() -> None:
    world = World(1, 2, 1)
    world.want(count=7)
    first, second = world.fetches()
    assert (first.node_id, asked(first)) == (1, [0, 2])
    assert (second.node_id, asked(second)) == (2, [1])
    request = first.request
    assert (request.group_id, request.member_id, request.share_session_epoch) == ("g", "m", 0)
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (1, 500, 10_000)
    assert (request.max_records, request.batch_size) == (7, 7)
    assert (request.share_acquire_mode, request.is_renew_ack) == (0, False)


def test_one_request_per_broker_is_in_flight() -> None:
    world = World(1)
    world.want()
    world.fetch()
    assert world.plan() == []


def test_fetches_go_on_until_there_are_records_and_name_nothing_twice() -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), data(0))
    again = world.fetch()
    assert (again.request.share_session_epoch, asked(again)) == (1, [])
    world.answer(again, data(0, (0, 2, 1)))
    assert world.plan() == [], "locks of records that nobody works on would run out"
    assert world.collect() == [(0, 0), (0, 1), (0, 2)]


def test_partitions_that_come_and_go_are_told() -> None:
    world = World(1, 1)
    world.assigned = [P0]
    world.want()
    world.answer(world.fetch(), data(0))
    world.assigned = [P1]
    intent = world.fetch()
    assert asked(intent) == [1]
    assert [each.partitions for each in intent.request.forgotten_topics_data] == [[0]]


def test_a_partition_without_a_leader_asks_for_metadata() -> None:
    world = World(-1)
    world.want()
    assert world.plan() == []
    assert world.fetcher.take_metadata_wanted()
    assert not world.fetcher.take_metadata_wanted()


def test_records_of_all_brokers_are_collected() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 0, 1)))
    world.answer(second, data(1, (4, 4, 1)))
    assert world.collect() == [(0, 0), (1, 4)]


def test_a_poll_takes_about_as_many_records_as_it_wants() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 2, 1)))
    world.answer(second, data(1, (0, 0, 1)))
    assert world.collect(2) == [(0, 0), (0, 1), (0, 2)], "to the end of the batch"
    world.in_hand = InHand()
    assert world.collect(2) == [(1, 0)]


# ---- a limit of records (KIP-1206)


def test_with_a_limit_of_records_one_broker_is_asked_and_the_others_only_get_to_know_us() -> None:
    world = World(1, 2, record_limit=True)
    world.want(count=5)
    first, second = world.fetches()
    assert (first.request.max_records, first.request.share_acquire_mode) == (5, 1)
    limits = second.request
    assert (limits.max_records, limits.max_bytes, limits.min_bytes, limits.max_wait_ms) == (
        0,
        0,
        0,
        0,
    )
    world.answer(second, data(1))
    assert world.plan() == [], "the first one still reads"
    world.answer(first, data(0))
    assert world.fetch().node_id == 2, "each in its turn"


def test_with_a_limit_of_records_a_broker_that_fails_lets_the_next_one_read() -> None:
    world = World(1, 2, record_limit=True)
    world.want()
    first, second = world.fetches()
    world.answer(second, data(1))
    world.fetcher.handle_failure(first, NetworkException(), 0)
    intent = world.fetch()
    assert (intent.node_id, intent.request.max_records) == (2, 10)


# ---- acknowledgements that go with a fetch


def test_a_fetch_tells_what_became_of_the_last_records() -> None:
    world = World(1)
    world.open_session((0, 3, 1))
    world.want(NodeAcknowledgements(1, P0, {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: REJECT}))
    intent = world.fetch()
    assert told(intent) == {0: [(0, 3, [1, 1, 2, 3])]}
    world.answer(intent, data(0))
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT, 2: RELEASE, 3: REJECT}, None)]


def test_an_acknowledgement_may_be_refused_while_records_come() -> None:
    world = World(1)
    world.open_session()
    world.collect()
    world.in_hand = InHand()
    world.want(accepted(0, 1))
    world.answer(world.fetch(), data(0, (5, 5, 1), refused=InvalidRecordState))
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, InvalidRecordState)]
    assert world.collect() == [(0, 5)]


def test_what_an_answer_leaves_out_has_failed() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0, 1))
    world.answer(world.fetch())
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, InvalidRecordState)]


def test_a_partition_that_is_not_assigned_any_more_can_still_be_acknowledged() -> None:
    world = World(1)
    world.open_session()
    world.assigned = []
    world.want(accepted(0))
    intent = world.fetch()
    assert told(intent) == {0: [(0, 0, [1])]}
    assert intent.request.max_records == 0
    assert [each.partitions for each in intent.request.forgotten_topics_data] == [[0]]


def test_a_leader_that_has_changed_takes_nothing_back() -> None:
    world = World(1)
    world.open_session()
    world.lead(2)
    world.want(accepted(0))
    intent = world.fetch()
    assert (intent.node_id, told(intent)) == (2, {})
    assert world.outcomes() == [(0, {0: ACCEPT}, NotLeaderOrFollower)]


def test_a_renewal_fetches_nothing_and_the_next_request_does() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0, 1, kind=RENEW))
    intent = world.fetch()
    assert intent.request.is_renew_ack
    limits = intent.request
    assert (limits.max_records, limits.max_bytes, limits.min_bytes, limits.max_wait_ms) == (
        0,
        0,
        0,
        0,
    )
    world.answer(intent, data(0), lock_ms=15_000)
    outcome = world.fetcher.outcomes.take()
    assert outcome is not None
    assert (outcome.error, outcome.lock_timeout_ms) == (None, 15_000)
    assert world.fetch().request.max_records == 10


# ---- sessions that are lost


@pytest.mark.parametrize(
    "error", [ShareSessionNotFound, InvalidShareSessionEpoch, ShareSessionLimitReached]
)
def test_a_refused_session_fails_its_acknowledgements_and_begins_anew_a_little_later(
    error: type[KafkaError],
) -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    world.answer(world.fetch(), error=error)
    assert world.outcomes() == [(0, {0: ACCEPT}, error)]
    assert world.plan() == []
    assert world.fetcher.next_turn_ms(0) in range(80, 121)
    world.now_ms = 121
    intent = world.fetch()
    assert (intent.request.share_session_epoch, asked(intent)) == (0, [0])


def test_a_fetch_without_an_answer_fails_its_acknowledgements_and_its_session() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    world.fetcher.handle_failure(world.fetch(), NetworkException(), 0)
    assert world.outcomes() == [(0, {0: ACCEPT}, NetworkException)]
    assert world.fetcher.take_metadata_wanted()
    world.want(accepted(1))
    world.now_ms = 121
    intent = world.fetch()
    assert (intent.request.share_session_epoch, told(intent)) == (0, {})
    assert world.outcomes() == [(0, {1: ACCEPT}, NotLeaderOrFollower)], (
        "a session that begins takes no acknowledgements"
    )


def test_any_other_refusal_leaves_the_session_as_it_is() -> None:
    world = World(1)
    world.open_session()
    world.want()
    world.answer(world.fetch(), error=UnknownTopicId)
    world.now_ms = 121
    assert world.fetch().request.share_session_epoch == 2


def test_an_error_that_trying_again_does_not_cure_is_raised() -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), error=GroupAuthorizationFailed)
    with pytest.raises(GroupAuthorizationFailed):
        world.collect()
    assert world.collect() == [], "once"


@pytest.mark.parametrize(
    "error", [NotLeaderOrFollower, FencedLeaderEpoch, UnknownTopicId, UnknownServerError]
)
def test_a_partition_that_cannot_be_read_at_the_moment_is_asked_for_again_later(
    error: type[KafkaError],
) -> None:
    world = World(1)
    world.want()
    world.answer(world.fetch(), data(0, error=error))
    assert world.collect() == []
    assert world.fetcher.take_metadata_wanted()
    assert world.plan() == []
    world.now_ms = 121
    assert world.fetch().request.share_session_epoch == 1


@pytest.mark.parametrize("error", [TopicAuthorizationFailed, CorruptMessage])
def test_a_partition_that_must_not_or_cannot_be_read_is_raised_behind_the_records(
    error: type[KafkaError],
) -> None:
    world = World(1, 1)
    world.want()
    world.answer(world.fetch(), data(0, error=error), data(1, (0, 0, 1)))
    assert world.collect() == [(1, 0)]
    world.in_hand = InHand()
    with pytest.raises(error, match="t-0: "):
        world.collect()


def test_a_leader_that_is_named_with_the_error_is_learned() -> None:
    world = World(1)
    world.want()
    intent = world.fetch()
    moved = data(0, error=NotLeaderOrFollower)
    moved.current_leader = share_fetch.LeaderIdAndEpoch(2, 5)
    response = share_fetch.ShareFetchResponse(
        responses=[share_fetch.ShareFetchableTopicResponse(TOPIC_ID, [moved])]
    )
    cluster = intent.news(response).told_to(world.cluster)
    assert cluster.leader(TopicPartition("t", 0)) == 2


# ---- commits


def test_a_commit_goes_at_once_and_before_the_next_fetch() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0, 1))
    world.want()
    intent = world.acknowledge()
    assert (told(intent), intent.request.share_session_epoch) == ({0: [(0, 1, [1])]}, 1)
    assert not commit.is_complete
    world.answer_acknowledge(intent, (0, None))
    assert (commit.is_complete, commit.results) == (True, {P0: None})
    assert world.outcomes() == [(0, {0: ACCEPT, 1: ACCEPT}, None)]
    assert world.fetch().request.share_session_epoch == 2


def test_a_commit_of_nothing_is_complete() -> None:
    assert World(1).commit().is_complete


def test_commits_wait_for_the_request_before() -> None:
    world = World(1)
    world.open_session()
    first, second = world.commit(accepted(0)), world.commit(accepted(1))
    intent = world.acknowledge()
    assert world.plan() == []
    world.answer_acknowledge(intent, (0, None))
    assert (first.is_complete, second.is_complete) == (True, False)
    assert told(world.acknowledge()) == {0: [(1, 1, [1])]}


def test_a_commit_goes_to_every_broker_that_handed_out_records() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 0, 1)))
    world.answer(second, data(1, (0, 0, 1)))
    commit = world.commit(accepted(0), accepted(0, node=2, partition=P1))
    one, other = world.plan()
    assert (told(one), told(other)) == ({0: [(0, 0, [1])]}, {1: [(0, 0, [1])]})
    assert isinstance(one, AcknowledgeIntent)
    assert isinstance(other, AcknowledgeIntent)
    world.answer_acknowledge(one, (0, None))
    assert not commit.is_complete
    world.answer_acknowledge(other, (1, InvalidRecordState))
    assert commit.is_complete
    assert commit.results[P0] is None
    assert isinstance(commit.results[P1], InvalidRecordState)


def test_a_partition_that_fails_for_the_moment_is_committed_again() -> None:
    world = World(1, 1)
    world.open_session()
    commit = world.commit(accepted(0), accepted(4, partition=P1))
    world.answer_acknowledge(world.acknowledge(), (0, None), (1, RequestTimedOut))
    assert world.outcomes() == [(0, {0: ACCEPT}, None)]
    assert world.plan() == []
    world.now_ms = 121
    again = world.acknowledge()
    assert told(again) == {1: [(4, 4, [1])]}
    world.answer_acknowledge(again, (1, None))
    assert (commit.is_complete, commit.results) == (True, {P0: None, P1: None})


@pytest.mark.parametrize("error", [NotLeaderOrFollower, UnknownTopicId, InvalidRecordState])
def test_a_partition_that_fails_for_good_is_not_committed_again(error: type[KafkaError]) -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.answer_acknowledge(world.acknowledge(), (0, error))
    assert commit.is_complete
    assert isinstance(commit.results[P0], error)
    assert world.plan() == []


def test_a_commit_in_a_session_that_is_gone_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.answer_acknowledge(world.acknowledge(), error=ShareSessionNotFound)
    world.now_ms = 121
    assert world.plan() == []
    assert commit.is_complete
    assert isinstance(commit.results[P0], NotLeaderOrFollower)


def test_a_commit_without_an_answer_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0))
    world.fetcher.handle_failure(world.acknowledge(), RequestTimedOut(), 0)
    assert commit.is_complete
    assert isinstance(commit.results[P0], RequestTimedOut)


def test_a_commit_to_a_leader_of_the_past_fails_at_once() -> None:
    world = World(1)
    world.open_session()
    world.lead(2)
    commit = world.commit(accepted(0))
    assert commit.is_complete
    assert isinstance(commit.results[P0], NotLeaderOrFollower)


def test_a_commit_that_could_not_be_sent_in_time_fails() -> None:
    world = World(1)
    world.open_session()
    commit = world.commit(accepted(0), deadline_ms=1_000)
    world.answer_acknowledge(world.acknowledge(), (0, RequestTimedOut))
    world.now_ms = 1_000
    assert world.plan() == []
    assert isinstance(commit.results[P0], RequestTimedOut)


# ---- closing


def test_closing_tells_every_broker_the_last_of_it() -> None:
    world = World(1, 2)
    world.want()
    first, second = world.fetches()
    world.answer(first, data(0, (0, 1, 1)))
    world.answer(second, data(1))
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    one, other = world.plan()
    assert isinstance(one, AcknowledgeIntent)
    assert isinstance(other, AcknowledgeIntent)
    assert (one.request.share_session_epoch, told(one)) == (-1, {0: [(0, 0, [1])]})
    assert (other.request.share_session_epoch, told(other)) == (-1, {})
    world.answer_acknowledge(one, (0, None))
    world.answer_acknowledge(other)
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, None)]


def test_closing_waits_for_the_request_that_is_out_and_says_what_waited_for_the_next_one() -> None:
    world = World(1)
    world.open_session()
    world.want(accepted(0))
    fetch = world.fetch()
    world.want(accepted(1))
    commit = world.fetcher.close([], world.cluster, FOREVER_MS)
    assert world.plan() == []
    world.answer(fetch, data(0))
    intent = world.acknowledge()
    assert told(intent) == {0: [(1, 1, [1])]}
    world.answer_acknowledge(intent, (0, None))
    assert commit.is_complete


def test_a_broker_that_does_not_answer_does_not_keep_the_close_from_ending() -> None:
    world = World(1)
    world.open_session()
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    world.fetcher.handle_failure(world.acknowledge(), NetworkException(), 0)
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, NetworkException)]


def test_a_close_that_is_refused_for_the_moment_is_not_repeated() -> None:
    world = World(1)
    world.open_session()
    commit = world.fetcher.close([accepted(0)], world.cluster, FOREVER_MS)
    world.answer_acknowledge(world.acknowledge(), (0, RequestTimedOut))
    assert commit.is_complete
    assert world.outcomes() == [(0, {0: ACCEPT}, RequestTimedOut)]
