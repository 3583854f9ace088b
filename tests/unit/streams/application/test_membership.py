"""A member of a streams group says everything when it joins, then what changes, and gives up tasks before others get them."""

from __future__ import annotations

from dataclasses import replace

from millstream.errors import CoordinatorLoadInProgress, FencedMemberEpoch, GroupIdNotFound
from millstream.model import TopicPartition as InputPartition
from millstream.protocol.generated.streams_group_heartbeat import (
    Endpoint,
    EndpointToPartitions,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    TopicPartition,
    Topology,
)
from millstream.streams.application.group.known_hosts import HostPartitions, KnownHosts
from millstream.streams.application.group.membership import (
    StreamsMembership,
    StreamsMembershipPolicy,
    StreamsTaskId,
    TaskAssignment,
)
from millstream.streams.host_info import HostInfo

TOLD = Topology(epoch=0, subtopologies=[])
POLICY = StreamsMembershipPolicy(
    group_id="app", topology=TOLD, process_id="p", rebalance_timeout_ms=300_000
)


def member() -> StreamsMembership:
    return StreamsMembership(POLICY, "m")


def answer(
    epoch: int, active: list[TaskIds] | None = None, error_code: int = 0
) -> StreamsGroupHeartbeatResponse:
    tasks = None if active is None else list[TaskIds]()
    return StreamsGroupHeartbeatResponse(
        error_code=error_code,
        member_id="m",
        member_epoch=epoch,
        heartbeat_interval_ms=5_000,
        active_tasks=active,
        standby_tasks=tasks,
        warmup_tasks=tasks,
    )


def joined(active: list[TaskIds]) -> StreamsMembership:
    one = member()
    assert one.handle_heartbeat(one.heartbeat_request(0), answer(1, active)) is None
    return one


def active(*tasks: tuple[int, int]) -> TaskAssignment:
    return TaskAssignment(frozenset(StreamsTaskId(*task) for task in tasks))


def test_the_first_request_says_everything_and_holds_nothing() -> None:
    one = member()
    assert one.heartbeat_due_ms(0) == 0
    assert one.heartbeat_request(0) == StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="m",
        member_epoch=0,
        endpoint_information_epoch=-1,
        rebalance_timeout_ms=300_000,
        topology=TOLD,
        process_id="p",
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        client_tags=[],
    )


def test_later_ones_say_what_is_new_and_come_in_the_interval() -> None:
    one = joined([TaskIds("0", [1, 0]), TaskIds("1", [2])])
    assert one.target == active((0, 0), (0, 1), (1, 2))
    assert one.heartbeat_due_ms(2_000) == 3_000
    quiet = one.heartbeat_request(5_000)
    assert (quiet.topology, quiet.active_tasks, quiet.member_epoch) == (None, None, 1)
    one.handle_heartbeat(quiet, answer(1))
    one.acknowledge(active((0, 0), (0, 1), (1, 2)))
    assert one.heartbeat_due_ms(5_001) == 0, "the coordinator waits for it"
    request = one.heartbeat_request(5_001)
    assert request.active_tasks == [TaskIds("0", [0, 1]), TaskIds("1", [2])]
    assert (request.standby_tasks, request.warmup_tasks) == ([], [])


def test_standby_and_warm_up_tasks_are_had_and_told_like_active_ones() -> None:
    one = member()
    told = answer(1, [TaskIds("0", [0])])
    told.standby_tasks, told.warmup_tasks = [TaskIds("1", [2, 3])], [TaskIds("1", [1])]
    one.handle_heartbeat(one.heartbeat_request(0), told)
    assert one.target is not None
    assert one.target.copies == {StreamsTaskId(1, number) for number in (1, 2, 3)}
    one.acknowledge(one.target)
    request = one.heartbeat_request(1)
    assert request.standby_tasks == [TaskIds("1", [2, 3])]
    assert request.warmup_tasks == [TaskIds("1", [1])]
    assert one.is_reconciled


def test_the_hosts_of_the_group_are_kept_until_the_coordinator_tells_of_others() -> None:
    one = StreamsMembership(replace(POLICY, endpoint=Endpoint("one", 1)), "m")
    request = one.heartbeat_request(0)
    assert request.user_endpoint == Endpoint("one", 1)
    told = EndpointToPartitions(Endpoint("one", 1), [TopicPartition("in", [2])], [])
    first = answer(1, [])
    first.endpoint_information_epoch, first.partitions_by_user_endpoint = 7, [told]
    one.handle_heartbeat(request, first)
    host = HostPartitions(HostInfo("one", 1), frozenset({InputPartition("in", 2)}))
    assert one.known_hosts == KnownHosts(7, (host,))
    quiet = one.heartbeat_request(5_000)
    assert (quiet.user_endpoint, quiet.endpoint_information_epoch) == (None, 7)
    same = answer(1)
    same.endpoint_information_epoch = 7
    one.handle_heartbeat(quiet, same)
    assert one.known_hosts == KnownHosts(7, (host,))


def test_what_was_not_answered_is_said_again() -> None:
    one = joined([TaskIds("0", [0])])
    one.acknowledge(active((0, 0)))
    one.heartbeat_request(1)
    one.handle_failure()
    assert one.heartbeat_request(2).active_tasks == [TaskIds("0", [0])]


def test_a_target_that_returns_to_what_the_member_has_is_acknowledged_all_the_same() -> None:
    """The coordinator has seen the other target, and gives the task to nobody else until it hears that nobody has it."""
    one = joined([TaskIds("0", [0])])
    one.acknowledge(active((0, 0)))
    one.handle_heartbeat(one.heartbeat_request(1), answer(1))
    assert one.is_reconciled
    one.handle_heartbeat(one.heartbeat_request(2), answer(2, [TaskIds("0", [0, 1])]))
    assert not one.is_reconciled
    one.handle_heartbeat(one.heartbeat_request(3), answer(2, [TaskIds("0", [0])]))
    assert not one.is_reconciled
    one.acknowledge(active((0, 0)))
    assert one.heartbeat_due_ms(4) == 0
    request = one.heartbeat_request(4)
    assert request.active_tasks == [TaskIds("0", [0])]
    one.handle_heartbeat(request, answer(3, [TaskIds("0", [0])]))
    assert one.is_reconciled, "it has said so, and the answer to that asks for no more"


def test_an_answer_that_crosses_an_acknowledgement_counts_against_what_the_member_has_now() -> None:
    one = joined([TaskIds("0", [0])])
    one.acknowledge(active((0, 0)))
    said_before = one.heartbeat_request(1)
    one.target = active((0, 0), (0, 1))
    one.acknowledge(active((0, 0), (0, 1)))
    one.handle_heartbeat(said_before, answer(1, [TaskIds("0", [0])]))
    assert not one.is_reconciled


def test_a_coordinator_that_loads_is_no_reason_to_give_up_tasks() -> None:
    one = joined([TaskIds("0", [0])])
    request = one.heartbeat_request(1)
    assert (
        one.handle_heartbeat(request, answer(0, error_code=CoordinatorLoadInProgress.code)) is None
    )
    assert (one.member_epoch, one.has_lost_tasks) == (1, False)
    assert one.target == active((0, 0))


def test_a_member_that_was_counted_out_is_silent_until_it_has_given_up_its_tasks() -> None:
    one = joined([TaskIds("0", [0])])
    one.acknowledge(active((0, 0)))
    request = one.heartbeat_request(1)
    assert one.handle_heartbeat(request, answer(0, error_code=FencedMemberEpoch.code)) is None
    assert one.has_lost_tasks
    assert one.heartbeat_due_ms(100_000) is None
    one.acknowledge(active((0, 0)))
    one.rejoin()
    assert (one.heartbeat_due_ms(100_000), one.target) == (0, None)
    request = one.heartbeat_request(100_000)
    assert (request.member_id, request.member_epoch) == ("m", 0)
    assert (request.topology, request.active_tasks) == (TOLD, [])


def test_an_answer_to_an_earlier_identity_counts_for_nothing() -> None:
    one = joined([])
    late = one.heartbeat_request(1)
    one.handle_heartbeat(late, answer(0, error_code=FencedMemberEpoch.code))
    one.rejoin()
    one.handle_heartbeat(late, answer(7, [TaskIds("0", [0])]))
    assert (one.member_epoch, one.target) == (0, None)


def test_other_errors_end_the_membership() -> None:
    one = joined([])
    request = one.heartbeat_request(1)
    error = one.handle_heartbeat(request, answer(0, error_code=GroupIdNotFound.code))
    assert isinstance(error, GroupIdNotFound)
    assert one.heartbeat_due_ms(100_000) is None
    assert one.leave_request() is None


def test_who_leaves_says_so_unless_nobody_knows_of_it() -> None:
    assert member().leave_request() is None
    one = joined([])
    request = one.leave_request()
    assert request is not None
    assert (request.member_id, request.member_epoch) == ("m", -1)
    assert one.heartbeat_due_ms(100_000) is None
