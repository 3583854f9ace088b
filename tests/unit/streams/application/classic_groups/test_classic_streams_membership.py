"""A member of a classic group tells the leader of its tasks, takes what it is given, and joins again once it has given up others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.clients.group.core.classic_membership import MemberState
from millstream.clients.group.core.consumer_protocol import (
    decode_subscription,
    encode_assignment,
)
from millstream.errors import IllegalGeneration, RebalanceInProgress
from millstream.model import TopicPartition
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.join_group import JoinGroupResponse
from millstream.protocol.generated.sync_group import SyncGroupResponse
from millstream.streams import StreamsBuilder
from millstream.streams.application.group.classic.membership import (
    ClassicStreamsMembership,
    ClassicStreamsPolicy,
)
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.classic.user_data import (
    RUNNING,
    AssignmentError,
    AssignmentInfo,
    SubscriptionInfo,
)
from millstream.streams.application.group.membership import (
    NO_TASKS,
    StreamsTaskId,
    TaskAssignment,
)
from millstream.streams.errors import TaskAssignmentError, TopologyError
from millstream.streams.host_info import HostInfo


def sources(*patterns: str) -> SourceTopics:
    """Of an application that reads `words`, and what patterns match."""
    builder = StreamsBuilder()
    builder.stream("words").to("out")
    for pattern in patterns:
        builder.stream(pattern=pattern).to("out")
    return SourceTopics(builder.build(), "app")


ZERO, ONE = StreamsTaskId(0, 0), StreamsTaskId(0, 1)
WORDS = {task: TopicPartition("words", task.partition) for task in (ZERO, ONE)}
POLICY = ClassicStreamsPolicy(
    group_id="app",
    sources=sources(),
    process_id="01020304-0506-0708-090a-0b0c0d0e0f10",
    session_timeout_ms=45_000,
    heartbeat_interval_ms=3_000,
    rebalance_timeout_ms=300_000,
)


def given(
    *tasks: StreamsTaskId, copies: tuple[StreamsTaskId, ...] = (), **info: object
) -> SyncGroupResponse:
    standby = {task: frozenset({WORDS[task]}) for task in copies}
    told = AssignmentInfo(tasks, standby, **info)  # type: ignore[arg-type]  # checked by the class
    return SyncGroupResponse(
        assignment=encode_assignment([WORDS[task] for task in tasks], told.encode())
    )


def assign(member: ClassicStreamsMembership, response: SyncGroupResponse) -> None:
    said(member)
    answer = JoinGroupResponse(generation_id=3, protocol_name="stream", member_id="m", members=[])
    member.classic.handle_join(answer)
    member.handle_sync(response, now_ms=0)


def said(
    member: ClassicStreamsMembership, copies: dict[StreamsTaskId, int] | None = None
) -> tuple[SubscriptionInfo, frozenset[TopicPartition]]:
    """What a JoinGroup tells the leader."""
    request = member.join_request(["words"], copies or {}, named_reason=True)
    (protocol,) = request.protocols
    assert (request.protocol_type, protocol.name) == ("consumer", "stream")
    subscription = decode_subscription(bytes(protocol.metadata), None)
    assert subscription.topics == {"words"}
    return SubscriptionInfo.decode(subscription.user_data or b""), subscription.owned


def active(*tasks: StreamsTaskId, topics: frozenset[str] = frozenset({"words"})) -> TaskAssignment:
    return TaskAssignment(frozenset(tasks), topics=dict.fromkeys(tasks, topics))


def test_a_member_takes_what_it_is_given_and_says_so_the_next_time() -> None:
    member = ClassicStreamsMembership(POLICY)
    assert member.may_join
    assign(member, given(ZERO, copies=(ONE,)))
    words = frozenset({"words"})
    assert member.target == TaskAssignment(
        frozenset({ZERO}), frozenset({ONE}), topics={ZERO: words, ONE: words}
    )
    assert not member.is_reconciled
    assert not member.may_join, "it has yet to take over"
    member.acknowledge(member.target)
    assert member.is_reconciled
    assert not member.wants_to_join(0)
    info, owned = said(member, {ONE: 17})
    assert info.offset_sums == {ZERO: RUNNING, ONE: 17}
    assert owned == {WORDS[ZERO]}


def test_a_task_that_is_given_another_topic_is_taken_over_anew() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    more = [TopicPartition("others", 0), WORDS[ZERO]]
    told = encode_assignment(more, AssignmentInfo((ZERO, ZERO)).encode())
    assign(member, SyncGroupResponse(assignment=told))
    wanted = active(ZERO, topics=frozenset({"words", "others"}))
    assert member.target == wanted
    assert not member.is_reconciled
    assert active(ZERO).unchanged(wanted) == NO_TASKS
    member.acknowledge(wanted)
    assert not member.wants_to_join(0), "nobody waits for what it has given up meanwhile"
    assert said(member)[1] == set(more)


def test_who_reads_by_pattern_subscribes_to_what_matches_and_joins_again_when_that_changes() -> (
    None
):
    member = ClassicStreamsMembership(replace(POLICY, sources=sources("in-.*")))
    member.notice_topics(["in-1"])
    request = member.join_request(["in-1", "other", "out"], {}, named_reason=True)
    (protocol,) = request.protocols
    told = decode_subscription(bytes(protocol.metadata), None).topics
    assert told == {"in-1"}, "as in Kafka Streams a name alone is none of the topics that exist"
    member.notice_topics(["in-1", "new"])
    assert not member.wants_to_join(0)
    member.notice_topics(["in-1", "in-2"])
    assert member.wants_to_join(0)
    member.join_request(["in-1", "in-2", "words"], {}, named_reason=True)
    assert not member.wants_to_join(0)
    member.notice_topics(["in-2", "words"])
    assert member.wants_to_join(0)


def test_names_alone_are_told_whether_they_exist_or_not() -> None:
    member = ClassicStreamsMembership(POLICY)
    said(member)
    member.notice_topics([])
    assert not member.wants_to_join(0)


def test_no_two_subscriptions_are_equal() -> None:
    member = ClassicStreamsMembership(POLICY)
    assert said(member)[0] != said(member)[0]


STATIC = replace(POLICY, group_instance_id="one-1")
"""A static member that comes back is given what it had, without a rebalance."""
FORMER = StreamsTaskId(1, 0)
"""A task of a topology with one sub-topology more."""


def test_a_static_member_does_not_take_over_tasks_of_the_topology_that_it_had() -> None:
    member = ClassicStreamsMembership(STATIC)
    told = AssignmentInfo((ZERO, FORMER))
    partitions = [WORDS[ZERO], TopicPartition("years", 0)]
    assign(member, SyncGroupResponse(assignment=encode_assignment(partitions, told.encode())))
    assert member.target is None
    assert member.may_join
    assert member.wants_to_join(wall_ms=0), "its subscription is another one"
    assign(member, given(ZERO))
    assert member.target == active(ZERO)


def test_a_static_member_has_the_group_share_out_anew_once_for_its_new_topology() -> None:
    """Or what the topology has more is nobody's: its subscription has changed without a rebalance."""
    member = ClassicStreamsMembership(STATIC)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    assert not member.wants_to_join(wall_ms=0)
    member.notice_other_versions()
    assert member.wants_to_join(wall_ms=0)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    member.notice_other_versions()
    assert not member.wants_to_join(wall_ms=0)


def test_another_member_has_made_the_group_share_out_by_joining() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    member.notice_other_versions()
    assert not member.wants_to_join(wall_ms=0)


def test_who_gives_up_a_task_joins_again() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO, ONE))
    member.acknowledge(active(ZERO, ONE))
    assign(member, given(ZERO))
    assert not member.wants_to_join(0), "not before it has given it up"
    member.acknowledge(active(ZERO))
    assert member.wants_to_join(0)
    assert said(member)[1] == {WORDS[ZERO]}


def test_an_assignment_that_changes_nothing_needs_no_work() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given())
    assert not member.is_reconciled, "whoever runs the tasks has not heard that there are none"
    member.acknowledge(NO_TASKS)
    assign(member, given())
    assert member.is_reconciled


def test_the_leader_says_when_to_share_out_anew() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO, next_rebalance_ms=1_000))
    assert not member.wants_to_join(2_000), "not while tasks are taken over"
    member.acknowledge(active(ZERO))
    assert member.rebalance_due_ms(400) == 600
    assert not member.wants_to_join(999)
    assert member.wants_to_join(1_000)
    assert member.rebalance_due_ms(1_000) is None, "once"


def test_who_is_counted_out_begins_with_nothing() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    member.classic.handle_heartbeat(IllegalGeneration.code, 3)
    assert member.has_lost_tasks
    assert not member.may_join
    member.acknowledge(active(ZERO))
    member.rejoin()
    assert member.may_join
    assert member.wants_to_join(0)
    assert said(member) == (SubscriptionInfo(said(member)[0].process_id, unique=2), frozenset())


def test_a_rebalance_of_others_keeps_the_tasks() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(ZERO))
    member.acknowledge(active(ZERO))
    member.classic.handle_heartbeat(RebalanceInProgress.code, 3)
    assert member.wants_to_join(0)
    assert member.may_join
    assert not member.has_lost_tasks
    assert member.classic.state is MemberState.STABLE


@pytest.mark.parametrize(
    ("code", "error", "says"),
    [
        (AssignmentError.INCOMPLETE_SOURCE_TOPIC_METADATA, TopologyError, "create the source"),
        (AssignmentError.ASSIGNMENT_ERROR, TaskAssignmentError, "its log says why"),
        (AssignmentError.VERSION_PROBING, TaskAssignmentError, "error 2"),
    ],
)
def test_errors_of_the_leader_say_what_to_do(
    code: AssignmentError, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        assign(ClassicStreamsMembership(POLICY), given(error=code))


def test_more_partitions_than_tasks_are_refused() -> None:
    told = SyncGroupResponse(assignment=encode_assignment([WORDS[ZERO]], AssignmentInfo().encode()))
    with pytest.raises(TaskAssignmentError, match="1 partition for 0 tasks"):
        assign(ClassicStreamsMembership(POLICY), told)


def test_a_shutdown_is_asked_for_and_heard_of() -> None:
    member = ClassicStreamsMembership(POLICY)
    member.wants_shutdown = True
    assert said(member)[0].error == AssignmentError.SHUTDOWN_REQUESTED
    assign(member, given(error=AssignmentError.SHUTDOWN_REQUESTED))
    assert [each.status_code for each in member.statuses] == [
        StreamsGroupStatus.SHUTDOWN_APPLICATION
    ]


def test_hosts_are_news_only_when_they_change() -> None:
    member = ClassicStreamsMembership(POLICY)
    hosts = {HostInfo("one", 7001): frozenset({WORDS[ZERO]})}
    assign(member, given(ZERO, hosts=hosts))
    known = member.known_hosts
    assert [(each.host, each.active) for each in known.hosts] == list(hosts.items())
    assign(member, given(ZERO, hosts=hosts))
    assert member.known_hosts is known
    assign(member, given(ZERO))
    assert member.known_hosts.hosts == ()
    assert member.known_hosts.epoch == known.epoch + 1


def test_a_member_speaks_the_latest_version_that_all_know() -> None:
    """KIP-268, as Kafka Streams does: it says all again in the version that it was answered in, and goes up once all have."""
    member = ClassicStreamsMembership(POLICY)
    assert said(member)[0].version == 11
    assign(member, given(ZERO, version=9, common_version=9))
    assert not member.wants_to_join(0), "not before it has taken over"
    member.acknowledge(active(ZERO))
    assert member.wants_to_join(0)
    told, owned = said(member)
    assert (told.version, told.version_max) == (9, 11)
    assert (told.offset_sums, owned) == ({ZERO: RUNNING}, {WORDS[ZERO]})
    assign(member, given(ZERO, version=9, common_version=9))
    assert not member.wants_to_join(0), "they agree"
    assign(member, given(ZERO, version=9, common_version=11))
    assert member.wants_to_join(0)
    assert said(member)[0].version == 11


def test_a_leader_that_answers_in_a_version_that_was_not_spoken_is_refused() -> None:
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(version=9, common_version=9))
    with pytest.raises(TaskAssignmentError, match=r"answered in version 11.* spoken version 9"):
        assign(member, given(version=11, common_version=11))
    with pytest.raises(TaskAssignmentError, match="12 known to all"):
        assign(ClassicStreamsMembership(POLICY), given(common_version=12))


def test_whoever_leads_a_member_of_an_earlier_version_may_end_the_application() -> None:
    """Kafka Streams' leader says so in the latest version that it knows."""
    member = ClassicStreamsMembership(POLICY)
    assign(member, given(version=9, common_version=9))
    assign(member, given(error=AssignmentError.SHUTDOWN_REQUESTED))
    assert member.statuses
