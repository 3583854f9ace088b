"""Bugs of whole nodes, put in by a patch: a scenario finds each within 500 seeds. Those of raft alone are in `tests/sim/raft`.

`make test` tries the first of them with the seed that is known to find it, `make sim` all, from seed 0.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from millstream.broker.metadata_log.broker_session import BrokerSession
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.driver import MetadataDriver
from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.metadata_log.snapshots import SnapshotFiles
from millstream.broker.transactions.marker_channel import TransactionMarkerChannel
from millstream.controller import controller
from millstream.controller.brokers.registration import plan_registration
from millstream.controller.operation import ControllerContext, ControllerResult, Operation
from millstream.controller.producer_ids import plan_producer_ids
from millstream.errors import KafkaStorageError
from millstream.log.segments.unsynced_file import write_unsynced
from millstream.metadata.loader import MetadataBatch, PublishedImage
from millstream.raft.election_state import ElectionState, encode_quorum_state
from millstream.raft.log_progress import LogProgress
from millstream.raft.membership import VoterChanges
from millstream.raft.messages import Appended
from millstream.raft.ready import Ready
from millstream.raft.snapshot import Snapshot, encode_snapshot
from millstream.raft.voter_history import QuorumEntry
from tests.sim.cluster import group_scenarios as groups
from tests.sim.cluster import move_scenarios as moves
from tests.sim.cluster import planted_group_bugs, scenarios, stories, voter_scenarios
from tests.sim.cluster import planted_replication_bugs as planted
from tests.sim.cluster import replica_scenarios as replicas
from tests.sim.cluster.alone import Story, interpreted, told
from tests.sim.cluster.replicas_observed import IS_INTERPRETED
from tests.sim.cluster.scenarios import layout_of

_SWEEPS = "MILLSTREAM_SIM_SEEDS" in os.environ
_MOST_SEEDS = 500
_MISFIT = re.compile(r"^(TypeError|AttributeError): ", re.MULTILINE)
"""A patch of what has another shape now: it is no bug, and no seed will find it."""
Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Bug:
    name: str
    put_in: Callable[[Patch], None]
    scenario: Story
    seed: int
    """The first that found it."""
    shown_by: str
    """Words of the failure that it leads to: a patch that does not fit the code any more fails in other words."""


def votes_are_not_synced(patch: Patch) -> None:
    def persist(self: MetadataLog, state: ElectionState, entry: QuorumEntry) -> None:
        encoded = encode_quorum_state(state, entry.kraft_version, entry.voters.ids)
        disk = self._file_system
        file = disk.open(self._quorum_state_path + ".new")
        file.truncate(0)
        file.append([encoded])
        file.close()
        disk.rename(self._quorum_state_path + ".new", self._quorum_state_path)

    patch.setattr(MetadataLog, "persist", persist)


def heartbeats_are_noted_after_the_queue(patch: Patch) -> None:
    patch.setattr(controller.Controller, "note_contact", lambda self, request, now_ms: None)


def plan_otherwise(patch: Patch, true_plan: Operation[Any, Any], plan: Operation[Any, Any]) -> None:
    """Has every controller run `plan` in the place of `true_plan`, whoever asks."""

    async def submit(self: ControllerRunner, asked: Operation[Any, Any], *rest: Any) -> Any:
        return await true_submit(self, plan if asked is true_plan else asked, *rest)

    true_submit = ControllerRunner.submit
    patch.setattr(ControllerRunner, "submit", submit)


def a_new_incarnation_keeps_its_epoch(patch: Patch) -> None:
    def plan(context: ControllerContext, request: Any) -> ControllerResult[Any]:
        result = plan_registration(context, request)
        existing = context.image.brokers.get(request.broker_id)
        if existing is not None:
            result.records[-1].broker_epoch = existing.broker_epoch
            result.response.broker_epoch = existing.broker_epoch
        return result

    plan_otherwise(patch, plan_registration, plan)


def a_registration_asked_for_twice_counts_twice(patch: Patch) -> None:
    def plan(context: ControllerContext, request: Any) -> ControllerResult[Any]:
        existing = context.image.brokers.get(request.broker_id)
        result = plan_registration(context, request)
        if existing is not None and existing.incarnation_id == request.incarnation_id:
            result.records[-1].broker_epoch = int(context.next_offset)
            result.response.broker_epoch = int(context.next_offset)
        return result

    plan_otherwise(patch, plan_registration, plan)


def the_controller_answers_before_the_commit(patch: Patch) -> None:
    async def at_once(self: ControllerRunner, offset: int) -> None:
        return None

    patch.setattr(ControllerRunner, "_wait_until_committed", at_once)


def images_are_applied_out_of_order(patch: Patch) -> None:
    def publish(
        self: ControllerRunner, batch: MetadataBatch, images: Sequence[PublishedImage]
    ) -> None:
        held = self.__dict__.pop("held", None)
        if held is None and int(batch.base_offset) % 3 == 1:
            self.__dict__["held"] = (batch, images)
            return
        true_publish(self, batch, images)
        if held is not None:
            true_publish(self, *held)

    true_publish = ControllerRunner.publish
    patch.setattr(ControllerRunner, "publish", publish)


def a_marker_that_was_not_taken_counts_as_written(patch: Patch) -> None:
    async def send(self: TransactionMarkerChannel, leader: Any, led: Any, marker: Any) -> Any:
        await true_send(self, leader, led, marker)
        return dict.fromkeys(led)

    true_send = TransactionMarkerChannel._send
    patch.setattr(TransactionMarkerChannel, "_send", send)


def blocks_of_producer_ids_are_not_written_down(patch: Patch) -> None:
    def plan(context: ControllerContext, request: Any) -> ControllerResult[Any]:
        return replace(plan_producer_ids(context, request), records=())

    plan_otherwise(patch, plan_producer_ids, plan)


def observers_apply_what_is_not_committed(patch: Patch) -> None:
    def append_fetched(self: MetadataDriver, records: bytes) -> Appended:
        appended = true_append(self, records)
        if not self._replica.quorum.is_voter:
            self._apply_up_to(appended.log.end_offset)
        return appended

    true_append = MetadataDriver._append_fetched
    patch.setattr(MetadataDriver, "_append_fetched", append_fetched)


def a_vote_that_cannot_be_stored_is_given(patch: Patch) -> None:
    async def write(self: MetadataDriver, ready: Ready) -> None:
        with contextlib.suppress(KafkaStorageError):
            await true_write(self, ready)

    true_write = MetadataDriver._write
    patch.setattr(MetadataDriver, "_write", write)


def votes_are_told_before_they_are_written(patch: Patch) -> None:
    """What a step says does not wait for its disk, the rest of it does."""

    def advance(self: MetadataDriver, event: Any) -> None:
        true_advance(self, event)
        unwritten = self._unwritten
        if unwritten is not None and unwritten.persist is not None:
            self._unwritten = replace(unwritten, send=(), reply=())
            told = {"send": unwritten.send, "reply": unwritten.reply}
            self._carry_out(Ready(deadline_ms=unwritten.deadline_ms, **told))

    true_advance = MetadataDriver._advance
    patch.setattr(MetadataDriver, "_advance", advance)


def a_log_before_its_snapshot_is_kept(patch: Patch) -> None:
    patch.setattr(MetadataLog, "start_over_at", lambda self, end, now: None)


def what_waits_for_the_disk_is_forgotten_at_the_end(patch: Patch) -> None:
    async def run(self: MetadataDriver) -> None:
        try:
            await true_run(self)
        finally:
            self._unwritten = None

    true_run = MetadataDriver.run
    patch.setattr(MetadataDriver, "run", run)


def replicas_say_what_is_on_no_disk(patch: Patch) -> None:
    patch.setattr(LogProgress, "is_flushed", True)


def snapshots_are_told_before_they_are_synced(patch: Patch) -> None:
    def write(self: SnapshotFiles, snapshot: Snapshot) -> None:
        write_unsynced(self._file_system, self.path(snapshot.id), encode_snapshot(snapshot))

    patch.setattr(SnapshotFiles, "write", write)


def voters_change_before_the_last_change_is_committed(patch: Patch) -> None:
    patch.setattr(VoterChanges, "_check_may_change", lambda self: None)


def heartbeats_come_just_in_time(patch: Patch) -> None:
    """A second before the session ends: that is enough while all clocks go alike."""

    async def keep_alive(self: BrokerSession) -> None:
        interval_ms = self._config.broker_session_timeout_ms - 1_000
        self._config = replace(self._config, broker_heartbeat_interval_ms=interval_ms)
        await true_keep_alive(self)

    true_keep_alive = BrokerSession.keep_alive
    patch.setattr(BrokerSession, "keep_alive", keep_alive)


BUGS = (
    Bug("a failed disk", a_vote_that_cannot_be_stored_is_given, scenarios.disk_refuses_a_vote, 0, "and its disk has"),
    Bug("a new incarnation keeps its epoch", a_new_incarnation_keeps_its_epoch, scenarios.restarted_brokers, 0, "has epoch"),
    Bug("KAFKA-16952", a_registration_asked_for_twice_counts_twice, scenarios.lost_answers, 10, "one incarnation of broker"),
    Bug("votes are not synced", votes_are_not_synced, scenarios.lost_votes, 0, "quorum-state file is damaged"),
    Bug("votes before the disk", votes_are_told_before_they_are_written, scenarios.lost_votes, 0, "and its disk has"),
    Bug("a vote at the end", what_waits_for_the_disk_is_forgotten_at_the_end, scenarios.stopped_in_elections, 1, "and its disk has"),
    Bug("fetches before the disk", replicas_say_what_is_on_no_disk, scenarios.restarted_brokers, 0, ", and is synced to"),
    Bug("snapshots before the disk", snapshots_are_told_before_they_are_synced, stories.nodes_alone, 8, "and has it on no disk"),
    Bug("heartbeats after the queue", heartbeats_are_noted_after_the_queue, scenarios.a_long_plan, 0, "fenced while a request was planned"),
    Bug("answers before the commit", the_controller_answers_before_the_commit, scenarios.cut_off_leader, 1, "were created, and are gone"),
    Bug("images out of order", images_are_applied_out_of_order, scenarios.restarted_brokers, 2, "after the faults all are at work: not within"),
    Bug("markers", a_marker_that_was_not_taken_counts_as_written, scenarios.brokers_that_lose_each_other, 3, "anomalies"),
    Bug("producer ids", blocks_of_producer_ids_are_not_written_down, scenarios.producer_ids_over_controllers, 0, "were given out as"),
    Bug("uncommitted", observers_apply_what_is_not_committed, scenarios.cut_off_leader_with_observers, 0, " applies ("),
    Bug("two changes of voters", voters_change_before_the_last_change_is_committed, voter_scenarios.voters_by_administrators, 0, "changes of the voters that are not committed"),
    Bug("just in time", heartbeats_come_just_in_time, scenarios.clocks_at_other_paces, 0, "because clocks differ"),
    Bug("snapshot and log", a_log_before_its_snapshot_is_kept, scenarios.killed_after_a_snapshot_came, 2, "one of them is from another time"),
)  # fmt: skip
BUGS_OF_REPLICATION = (
    Bug("an unclean stop is not told", planted.an_unclean_stop_is_not_told, replicas.power_lost_by_a_follower, 0, "was committed: it lacks"),
    Bug("mark over the committed ISR", planted.the_mark_counts_the_committed_isr, replicas.an_expansion_unheard, 0, "of the maximal ISR lacks"),
    Bug("an unclean replica stays eligible", planted.an_unclean_replica_stays_eligible, replicas.power_lost_by_a_follower, 0, "was committed: it lacks"),
    Bug("mark with too few in sync", planted.the_mark_rises_with_too_few_in_sync, replicas.too_few_in_sync, 0, "was committed: it lacks"),
    Bug("ISR before the controller", planted.the_isr_changes_before_the_controller_knows, replicas.an_expansion_unheard, 0, "who are in sync: its ISR"),
    Bug("an older image", planted.an_older_image_counts_after_an_answer, replicas.late_images, 7, "the partition epoch of"),
    Bug("ends kept over epochs", planted.ends_are_kept_over_epochs, replicas.leaders_by_turns, 3, "of the maximal ISR lacks"),
    Bug("acknowledged without the epoch", planted.acknowledged_without_the_epoch, replicas.leaders_by_turns, 0, "anomalies"),
    Bug("KAFKA-18723", planted.batches_of_newer_epochs_are_appended, replicas.an_answer_of_another_epoch, 0, "replicas differ that are in sync: ['the logs"),
    Bug("KAFKA-15021", planted.an_ineligible_follower_holds_the_mark, replicas.an_ineligible_follower, 0, "for a follower that is fenced"),
    Bug("no OFFSET_NOT_AVAILABLE", planted.ends_are_told_by_a_leader_that_does_not_know, replicas.a_leader_that_does_not_know, 0, "the end of events"),
    Bug("loaded counts as committed", planted.what_was_loaded_counts_as_committed, replicas.a_coordinator_that_does_not_know, 0, "as if it were committed to"),
    Bug("KAFKA-19446", planted.late_markers_count, replicas.a_marker_that_comes_late, 8, "anomalies"),
    Bug("markers before they are replicated", planted.markers_are_told_before_they_are_replicated, replicas.a_marker_in_a_failover, 0, "tells of a marker in"),
    Bug("answers before they are replicated", planted.coordinators_answer_before_their_records_are_replicated, replicas.a_coordinator_that_does_not_know, 0, "as if it were committed to"),
    Bug("closed without a flush", planted.directories_are_closed_without_a_flush, stories.replicas, 0, "has closed its directories as complete"),
    Bug("KAFKA-16541", planted.epochs_are_written_without_a_sync, replicas.power_losses_behind_flushes, 1, "the epochs of"),
    Bug("followers do not sync", planted.followers_say_what_is_on_no_disk, replicas.power_lost_by_all_whose_acknowledgements_are_on_disks, 0, "one offset holds two values"),
    Bug("KAFKA-17751", planted.a_divergence_is_never_cut, replicas.leaders_by_turns, 0, "after the faults all are at work: not within"),
)  # fmt: skip
BUGS_OF_MOVES = (
    Bug("a copy that lacks records takes over", planted.a_copy_takes_over_before_it_has_caught_up, moves.moves_between_directories, 0, "has moved"),
    Bug("a log leaves before its copy", planted.a_log_leaves_before_its_copy_has_the_name, moves.moves_between_directories, 0, "it was killed with it"),
    Bug("a copy does not hear of cuts", planted.a_copy_does_not_hear_of_cuts, moves.a_cut_in_a_move, 0, "has moved"),
)  # fmt: skip
BUGS_OF_GROUPS = (
    Bug("share state is not stored", planted_group_bugs.acknowledgements_are_not_stored, groups.share_groups_through_moves, 0, "was accepted, and is given to a member again"),
    Bug("a moment for a session", planted_group_bugs.a_new_coordinator_waits_a_moment_for_members, groups.streams_groups_through_moves, 2, "and is forgotten"),
    Bug("tasks of two members", planted_group_bugs.tasks_are_given_before_they_are_given_back, groups.streams_groups_through_moves, 1, "are given to"),
)  # fmt: skip
INTERPRETED = (*BUGS_OF_REPLICATION, *BUGS_OF_MOVES, *BUGS_OF_GROUPS)
"""Their layouts have replicas, of which compiled modules show nothing."""
IN_EVERY_RUN = (*BUGS[:2], *BUGS_OF_REPLICATION[:2])


def failure_with(bug: Bug, seed: int) -> str | None:
    if bug in INTERPRETED and not IS_INTERPRETED:
        return interpreted(bug.scenario, seed, bug.put_in.__name__).failure
    return told(bug.scenario, seed, layout_of(bug.scenario, seed)).failure


def found_by(bug: Bug, seeds: range) -> int | None:
    for seed in seeds:
        failure = failure_with(bug, seed)
        if failure is not None and bug.shown_by in failure:
            return seed
        assert not _MISFIT.search(failure or ""), f"the patch does not fit the code:\n{failure}"
    return None


@pytest.mark.parametrize(
    "bug", (*BUGS, *INTERPRETED) if _SWEEPS else IN_EVERY_RUN, ids=lambda bug: bug.name
)
def test_a_planted_bug_is_found(bug: Bug, monkeypatch: Patch) -> None:
    if IS_INTERPRETED or bug not in INTERPRETED:
        bug.put_in(monkeypatch)
    first = 0 if _SWEEPS else bug.seed
    assert found_by(bug, range(first, _MOST_SEEDS)) is not None


def test_a_follower_alone_guards_against_answers_of_another_epoch() -> None:
    """With half of KAFKA-18723: the leader answers what it must not, and the follower takes no batch of a newer epoch."""
    half = planted.old_epochs_are_answered.__name__
    outcome = interpreted(replicas.an_answer_of_another_epoch, 0, half)
    assert outcome.failure is None, outcome.failure
