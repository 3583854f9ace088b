"""Latencies of the quorum, from what steps of the replica come to."""

from __future__ import annotations

from millstream.broker.metrics.quorum_metrics import QuorumMetrics
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.ready import AppendBatch, LeaderAndEpoch, Ready, RoleChange

ONE, EPOCH = BrokerId(1), LeaderEpoch(4)


def became(role: str, epoch: LeaderEpoch = EPOCH) -> Ready:
    return Ready(role_changes=(RoleChange(role, epoch, ONE, "it is so"),), deadline_ms=0)


def appended(offset: int, records: int) -> Ready:
    batch = AppendBatch(base_offset=Offset(offset), epoch=EPOCH, data=(b"x",) * records)
    return Ready(append=(batch,), deadline_ms=0)


def committed(offset: int) -> Ready:
    return Ready(high_watermark=Offset(offset), deadline_ms=0)


def test_a_commit_takes_from_the_append_of_a_batch_to_the_mark_behind_it() -> None:
    metrics = QuorumMetrics()
    metrics.note(appended(10, 2), 100)
    metrics.note(appended(12, 4), 105)
    metrics.note(committed(12), 110)
    assert metrics.commit_latency_ms.average(110) == 10
    metrics.note(committed(16), 125)
    assert (metrics.commit_latency_ms.average(125), metrics.commit_latency_ms.maximum(125)) == (
        15,
        20,
    )
    assert metrics.appended.per_second(125) == 6 / 30


def test_batches_of_a_leader_that_lost_its_epoch_are_not_counted_with_the_next_one() -> None:
    metrics = QuorumMetrics()
    metrics.note(appended(10, 2), 100)
    metrics.note(Ready(leadership=LeaderAndEpoch(BrokerId(2), LeaderEpoch(5)), deadline_ms=0), 200)
    metrics.note(committed(20), 900)
    assert metrics.commit_latency_ms.average(900) == 0


def test_an_election_takes_from_the_first_try_until_somebody_leads_the_next_epoch() -> None:
    metrics = QuorumMetrics()
    for role, now_ms in (("Prospective", 100), ("Unattached", 200), ("Prospective", 300)):
        metrics.note(became(role), now_ms)
    metrics.note(became("Candidate", LeaderEpoch(5)), 310)
    metrics.note(became("Leader", LeaderEpoch(5)), 350)
    assert metrics.election_latency_ms.average(350) == 250


def test_whoever_goes_back_to_its_leader_has_seen_no_election() -> None:
    metrics = QuorumMetrics()
    metrics.note(became("Prospective"), 100)
    metrics.note(became("Follower"), 900)
    assert metrics.election_latency_ms.maximum(900) == 0
