"""One share partition: what is acquired, how it is acknowledged, what is stored (KIP-932; rules as in Kafka 4.3's SharePartition)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from millstream.coordinator.share.state import ShareState
from millstream.coordinator.share.state_batch import RecordState, StateBatch
from millstream.coordinator.share_partition.acknowledgement import (
    AcknowledgementBatch,
    check_batches,
)
from millstream.coordinator.share_partition.acquisition import (
    AcquiredRecords,
    AcquireRequest,
    Fetched,
    InclusiveRange,
    SharePartitionLimits,
)
from millstream.coordinator.share_partition.in_flight import Transition
from millstream.coordinator.share_partition.share_partition import SharePartition
from millstream.errors import InvalidRecordState, InvalidRequest
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType

LIMITS = SharePartitionLimits(record_locks_max=200, delivery_count_max=5, lock_duration_ms=30_000)
NEW = ShareState(
    snapshot_epoch=0,
    state_epoch=1,
    leader_epoch=0,
    start_offset=0,
    delivery_complete_count=0,
    created_ms=0,
    written_ms=0,
)
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = RecordState


class World:
    """A share partition on a log of record batches."""

    def __init__(
        self, *log: tuple[int, int], limits: SharePartitionLimits = LIMITS, state: ShareState = NEW
    ) -> None:
        self.log = [InclusiveRange(*batch) for batch in log]
        self.limits = limits
        self.stored = state
        self.partition = SharePartition(state, max(0, state.start_offset), leader_epoch=0)
        self.now_ms = 0

    def acquire(
        self,
        member: str = "ann",
        *,
        most: int = 500,
        batch_size: int = 500,
        is_record_limit: bool = False,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> list[AcquiredRecords]:
        offset = self.partition.next_fetch_offset
        read = [batch for batch in self.log if batch.last >= offset]
        fetched = Fetched(offset, read, [InclusiveRange(*batch) for batch in aborted])
        request = AcquireRequest(member, most, batch_size, is_record_limit, self.limits)
        return self.partition.acquire(request, fetched, self.now_ms)

    def begin(self, first: int, last: int, *types: int, member: str = "ann") -> Transition:
        batch = AcknowledgementBatch(first, last, types)
        return self.partition.acknowledge(member, [batch], self.limits, self.now_ms)

    def acknowledge(self, first: int, last: int, *types: int, member: str = "ann") -> None:
        self.finish(self.begin(first, last, *types, member=member))

    def finish(self, transition: Transition, *, stored: bool = True) -> None:
        if stored:
            self.stored = self.stored.changed(self.partition.state_change(transition.state_batches))
        self.partition.settle(transition, stored=stored)

    def release(self, member: str = "ann") -> None:
        self.finish(self.partition.release_member(member, self.limits))

    def pass_time(self, duration_ms: int) -> list[StateBatch]:
        self.now_ms += duration_ms
        return self.partition.release_expired(self.limits, self.now_ms)

    def spans(self) -> list[tuple[int, int, RecordState, int]]:
        return [(s.first, s.last, s.state, s.delivery_count) for s in self.partition.spans()]

    def delivered(self, times: int) -> World:
        """Everything was handed out so often, and came back."""
        for _ in range(times):
            while self.acquire():
                pass
            self.release()
        return self


# --- acquiring


def test_whole_record_batches_are_acquired_as_one_range() -> None:
    world = World((0, 9), (10, 19))
    assert world.acquire() == [(0, 19, 1)]
    assert world.partition.next_fetch_offset == 20
    assert world.acquire("bob") == []


def test_the_number_of_records_is_exceeded_to_the_end_of_a_record_batch() -> None:
    assert World((0, 9), (10, 19), (20, 29)).acquire(most=12) == [(0, 19, 1)]


def test_a_strict_limit_cuts_record_batches() -> None:
    world = World((0, 9), (10, 19))
    assert world.acquire(most=4, is_record_limit=True) == [(0, 3, 1)]
    assert world.acquire("bob", most=10, is_record_limit=True) == [(4, 9, 1), (10, 13, 1)]
    assert world.spans()[-1] == (14, 19, AVAILABLE, 0), "the next goes on there"


def test_ranges_are_as_large_as_the_member_acknowledges_at_once() -> None:
    world = World((0, 4), (5, 9), (10, 14), (15, 99))
    assert world.acquire(batch_size=10) == [(0, 9, 1), (10, 99, 1)]


def test_a_strict_limit_takes_no_notice_of_the_batch_size() -> None:
    world = World((0, 4), (5, 9), (10, 14))
    assert world.acquire(batch_size=5, is_record_limit=True) == [(0, 14, 1)]


def test_what_comes_back_goes_to_the_next_who_asks() -> None:
    world = World((0, 9))
    world.acquire()
    world.release()
    assert world.partition.next_fetch_offset == 0
    assert world.acquire("bob") == [(0, 9, 2)]


def test_what_others_hold_is_passed_over() -> None:
    world = World((0, 9), (10, 19))
    world.acquire(most=10)
    world.acquire("bob", most=10)
    world.release()
    assert world.acquire("eve") == [(0, 9, 2)]


def test_the_first_offset_read_need_not_be_the_start() -> None:
    """A record batch that was there before the group: its first records are below the start."""
    world = World((0, 9), state=replace(NEW, start_offset=5))
    assert world.acquire() == [(5, 9, 1)]


def test_no_more_records_than_locks() -> None:
    world = World((0, 9), (10, 19), (20, 29), limits=replace(LIMITS, record_locks_max=15))
    assert world.acquire(most=100) == [(0, 19, 1)]
    assert not world.partition.can_acquire(world.limits)
    assert world.acquire("bob") == []
    world.acknowledge(0, 9, ACCEPT)
    assert world.acquire("bob", most=100) == [(20, 29, 1)]


def test_with_all_locks_taken_what_comes_back_can_still_be_had() -> None:
    world = World((0, 9), (10, 19), limits=replace(LIMITS, record_locks_max=10))
    world.acquire()
    world.acknowledge(3, 5, RELEASE)
    assert world.partition.can_acquire(world.limits)
    assert world.acquire("bob") == [(3, 5, 2)]


def test_finished_records_in_the_middle_are_not_delivered_again() -> None:
    world = World((0, 9))
    world.acquire()
    world.acknowledge(3, 5, ACCEPT)
    world.release()
    assert world.acquire("bob") == [(0, 2, 2), (6, 9, 2)]


def test_records_that_the_log_has_lost_are_not_waited_for() -> None:
    """Compaction took 0-9 after they were released."""
    world = World((0, 9), (10, 19))
    world.acquire(most=1)
    world.release()
    del world.log[0]
    assert world.acquire() == [(10, 19, 1)]
    assert world.partition.start_offset == 10


# --- records that fail often


def test_records_that_fail_go_out_in_ever_smaller_lots() -> None:
    world = World((0, 15)).delivered(2)
    assert world.acquire("a") == [(0, 15, 3)], "the third delivery is still one of all"
    world.release("a")
    assert world.acquire("a") == [(0, 7, 4)], "half of them"
    assert world.acquire("b") == [(8, 15, 4)]
    world.release("a")
    assert world.acquire("a") == [(0, 0, 5)], "the last delivery goes out alone"


def test_a_record_that_fails_in_its_last_delivery_is_given_up() -> None:
    world = World((0, 0)).delivered(5)
    assert world.acquire() == []
    assert world.partition.start_offset == 1


def test_lots_that_fail_do_not_go_out_with_others() -> None:
    world = World((0, 9), (10, 19))
    for _ in range(3):
        world.acquire("ann", most=10)
        world.release()
    assert [end - first + 1 for first, end, _ in world.acquire()] == [5]


# --- acknowledging


@pytest.mark.parametrize(
    ("kind", "state"), [(ACCEPT, ACKNOWLEDGED), (REJECT, ARCHIVED), (ACKNOWLEDGE_GAP, ARCHIVED)]
)
def test_finished_records_move_the_start(kind: AcknowledgeType, state: RecordState) -> None:
    world = World((0, 9))
    world.acquire()
    transition = world.begin(0, 4, kind)
    assert transition.state_batches == [StateBatch(0, 4, state, 1)]
    assert world.partition.start_offset == 0, "not before it is stored"
    world.finish(transition)
    assert world.partition.start_offset == 5
    assert world.stored.delivery_complete_count == 5


def test_finished_records_in_the_middle_are_counted() -> None:
    world = World((0, 9))
    world.acquire()
    world.acknowledge(5, 9, ACCEPT)
    assert (world.partition.start_offset, world.partition.finished_count) == (0, 5)
    world.acknowledge(0, 4, ACCEPT)
    assert (world.partition.start_offset, world.partition.finished_count) == (10, 0)


def test_every_record_has_its_own_type() -> None:
    world = World((0, 5))
    world.acquire()
    world.acknowledge(0, 5, ACCEPT, ACCEPT, RELEASE, REJECT, ACKNOWLEDGE_GAP, RELEASE)
    assert world.spans() == [
        (2, 2, AVAILABLE, 1),
        (3, 4, ARCHIVED, 1),
        (5, 5, AVAILABLE, 1),
    ]


def test_an_acknowledgement_may_go_over_several_ranges() -> None:
    world = World((0, 4), (5, 9))
    assert len(world.acquire(batch_size=5)) == 2
    world.acknowledge(0, 9, ACCEPT)
    assert world.partition.start_offset == 10


def test_what_another_member_holds() -> None:
    world = World((0, 9))
    world.acquire()
    with pytest.raises(InvalidRecordState, match="another member"):
        world.acknowledge(0, 4, ACCEPT, member="bob")


def test_nothing_changes_when_one_record_of_a_request_is_wrong() -> None:
    world = World((0, 9))
    world.acquire()
    world.acknowledge(5, 5, RELEASE)
    before = world.spans()
    with pytest.raises(InvalidRecordState, match="not acquired"):
        world.acknowledge(0, 9, ACCEPT)
    assert world.spans() == before


def test_what_is_below_the_start_is_finished_whatever_is_said() -> None:
    world = World((0, 9))
    world.acquire()
    world.acknowledge(0, 4, ACCEPT)
    world.acknowledge(0, 4, RELEASE)
    world.acknowledge(2, 9, RELEASE)
    assert world.spans() == [(5, 9, AVAILABLE, 1)]


def test_what_was_never_acquired() -> None:
    world = World((0, 9))
    with pytest.raises(InvalidRecordState):
        world.acknowledge(0, 0, ACCEPT)
    world.acquire()
    with pytest.raises(InvalidRequest):
        world.acknowledge(5, 12, ACCEPT)
    with pytest.raises(InvalidRequest):
        world.acknowledge(12, 13, ACCEPT)


def test_records_whose_change_is_being_stored_are_out_of_reach() -> None:
    world = World((0, 9))
    world.acquire()
    transition = world.begin(0, 9, RELEASE)
    with pytest.raises(InvalidRecordState):
        world.begin(0, 9, ACCEPT)
    assert world.acquire("bob") == []
    assert world.pass_time(30_000) == []
    world.finish(transition)
    assert world.acquire("bob") == [(0, 9, 2)]


def test_what_cannot_be_stored_did_not_happen() -> None:
    world = World((0, 9))
    world.acquire()
    world.finish(world.begin(0, 9, ACCEPT), stored=False)
    assert world.spans() == [(0, 9, ACQUIRED, 1)]
    assert world.pass_time(30_000) == [StateBatch(0, 9, AVAILABLE, 1)]


@pytest.mark.parametrize(
    ("batches", "sentence"),
    [
        ([(5, 4, [ACCEPT])], "out of order"),
        ([(0, 4, [ACCEPT]), (3, 9, [ACCEPT])], "out of order"),
        ([(0, 4, [])], "come with 0 types"),
        ([(0, 4, [ACCEPT, ACCEPT])], "come with 2 types"),
        ([(0, 4, [5])], "0 to 4"),
        ([(0, 4, [RENEW])], "requests that say so"),
    ],
)
def test_acknowledgements_that_no_state_could_make_right(
    batches: list[tuple[int, int, list[int]]], sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        check_batches([AcknowledgementBatch(*batch) for batch in batches], may_renew=False)


def test_acknowledgements_that_are_well_formed() -> None:
    batches = [(0, 4, [RENEW]), (4, 5, [ACCEPT, RENEW])]
    check_batches([AcknowledgementBatch(*batch) for batch in batches], may_renew=True)


# --- locks


def test_a_lock_that_runs_out_gives_the_records_to_others() -> None:
    world = World((0, 9))
    world.acquire()
    assert world.partition.next_deadline_ms() == 30_000
    assert world.pass_time(29_999) == []
    assert world.pass_time(1) == [StateBatch(0, 9, AVAILABLE, 1)]
    assert world.partition.next_deadline_ms() is None
    assert world.acquire("bob") == [(0, 9, 2)]
    with pytest.raises(InvalidRecordState):
        world.acknowledge(0, 9, ACCEPT)


def test_a_renewed_lock_begins_anew_and_is_not_stored() -> None:
    world = World((0, 9))
    world.acquire()
    world.now_ms = 20_000
    assert world.begin(0, 4, RENEW).state_batches == []
    assert world.pass_time(10_000) == [StateBatch(5, 9, AVAILABLE, 1)]
    assert world.partition.next_deadline_ms() == 50_000
    assert world.spans() == [(0, 4, ACQUIRED, 1), (5, 9, AVAILABLE, 1)]


def test_a_group_may_forbid_to_renew_locks() -> None:
    world = World((0, 9), limits=replace(LIMITS, may_renew=False))
    world.acquire()
    with pytest.raises(InvalidRecordState, match="locks are not renewed in this group"):
        world.begin(0, 1, ACCEPT, RENEW)
    assert world.spans() == [(0, 9, ACQUIRED, 1)]
    assert world.partition.next_deadline_ms() == 30_000
    world.acknowledge(0, 9, ACCEPT)


def test_each_member_has_locks_of_its_own() -> None:
    world = World((0, 9), (10, 19))
    world.acquire(most=10)
    world.now_ms = 10_000
    world.acquire("bob")
    assert world.pass_time(20_000) == [StateBatch(0, 9, AVAILABLE, 1)]
    assert world.partition.next_deadline_ms() == 40_000


# --- the log underneath


def test_records_below_the_start_of_the_log_are_finished() -> None:
    world = World((0, 9), (10, 19))
    world.acquire()
    world.partition.move_log_start(12)
    assert world.partition.start_offset == 12
    assert world.spans() == [(12, 19, ACQUIRED, 1)]
    world.acknowledge(0, 19, ACCEPT)
    assert world.partition.start_offset == 20


def test_a_log_that_begins_after_all_that_is_known() -> None:
    world = World((0, 9))
    world.acquire()
    world.partition.move_log_start(50)
    world.log = [InclusiveRange(50, 59)]
    assert world.acquire("bob") == [(50, 59, 1)]


def test_records_of_aborted_transactions_are_nobodys() -> None:
    world = World((0, 4), (5, 9), (10, 14))
    assert world.acquire(aborted=[(5, 9)]) == [(0, 4, 1), (10, 14, 1)]
    assert world.spans()[1] == (5, 9, ARCHIVED, 1)


def test_aborted_records_at_the_start_move_it() -> None:
    world = World((0, 4), (5, 9))
    assert world.acquire(aborted=[(0, 4)]) == [(5, 9, 1)]
    assert world.partition.start_offset == 5


# --- what another leader finds


def test_locks_end_with_the_leader() -> None:
    world = World((0, 9))
    world.acquire()
    world.acknowledge(3, 5, ACCEPT)
    successor = World((0, 9), state=world.stored)
    assert successor.spans() == [(0, 2, AVAILABLE, 0), (3, 5, ACKNOWLEDGED, 1)]
    assert successor.acquire() == [(0, 2, 1), (6, 9, 1)]


def test_delivery_counts_outlive_the_leader() -> None:
    world = World((0, 9))
    world.acquire()
    world.release()
    assert World((0, 9), state=world.stored).acquire() == [(0, 9, 2)]


def test_finished_records_at_the_stored_start_move_it() -> None:
    state = replace(NEW, batches=(StateBatch(0, 4, ACKNOWLEDGED, 1), StateBatch(5, 9, 0, 2)))
    world = World((0, 9), state=state)
    assert world.partition.start_offset == 5
    assert world.partition.finished_count == 0
