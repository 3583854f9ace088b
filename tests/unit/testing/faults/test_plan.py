"""Which request meets which fault: a matter of rules, counting and a seed."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.testing.faults.plan import (
    CloseAfter,
    CloseBefore,
    Corrupt,
    FaultPlan,
    Rule,
    SeenRequest,
    flip_bits,
)
from millstream.testing.sim_random import SimRandom

PRODUCE = SeenRequest(ApiKey.PRODUCE, 9, 1)
FETCH = SeenRequest(ApiKey.FETCH, 12, 2)


def hits(plan: FaultPlan, request: SeenRequest, count: int) -> list[bool]:
    return [plan.decide(request) is not None for _ in range(count)]


def test_once_is_once_and_the_nth_is_the_nth() -> None:
    assert hits(FaultPlan([Rule(CloseBefore(), times=1)]), PRODUCE, 3) == [True, False, False]
    plan = FaultPlan([Rule(CloseBefore(), skip=2, times=1)])
    assert hits(plan, PRODUCE, 5) == [False, False, True, False, False]
    assert plan.hits == (1,)


def test_only_requests_that_match_are_counted() -> None:
    plan = FaultPlan([Rule(CloseBefore(), [ApiKey.PRODUCE], skip=1, times=1)])
    assert hits(plan, FETCH, 3) == [False, False, False]
    assert hits(plan, PRODUCE, 3) == [False, True, False]


def test_the_first_rule_that_hits_decides() -> None:
    once = Rule(CloseBefore(), times=1)
    always = Rule(CloseAfter())
    plan = FaultPlan([once, always])
    assert [plan.decide(PRODUCE) for _ in range(2)] == [once, always]


def test_the_same_seed_hits_the_same_requests_whatever_else_comes_between() -> None:
    rules = [Rule(CloseBefore(), [ApiKey.PRODUCE], probability=0.3)]
    plain = hits(FaultPlan(rules, seed=5), PRODUCE, 200)
    mixed_plan = FaultPlan(rules, seed=5)
    mixed = []
    for _ in range(200):
        mixed_plan.decide(FETCH)
        mixed += hits(mixed_plan, PRODUCE, 1)
    assert mixed == plain
    assert 30 < sum(plain) < 90
    assert hits(FaultPlan(rules, seed=6), PRODUCE, 200) != plain


def test_a_rule_for_a_partition_wants_a_request_that_names_it() -> None:
    plan = FaultPlan([Rule(CloseBefore(), topic="t", partition=1)])
    assert plan.names_partitions
    for partition, expected in (
        (TopicPartition("t", 0), False),
        (TopicPartition("u", 1), False),
        (TopicPartition("t", 1), True),
    ):
        request = SeenRequest(ApiKey.PRODUCE, 9, 1, partitions=frozenset({partition}))
        assert (plan.decide(request) is not None) == expected


def test_a_rule_for_a_node_leaves_the_others_alone() -> None:
    plan = FaultPlan([Rule(CloseBefore(), node_id=2)])
    assert plan.decide(SeenRequest(ApiKey.FETCH, 12, 1, node_id=1)) is None
    assert plan.decide(SeenRequest(ApiKey.FETCH, 12, 1, node_id=2)) is not None


def test_flipped_bits_lie_behind_the_correlation_id() -> None:
    frame = bytes(40)
    for seed in range(50):
        flipped = flip_bits(frame, Corrupt(), SimRandom(seed))
        assert flipped[:4] == bytes(4)
        assert sum(byte.bit_count() for byte in flipped) == 1


def test_flips_can_be_kept_to_the_tail() -> None:
    for seed in range(50):
        flipped = flip_bits(bytes(40), Corrupt(bits=2, tail_bytes=5), SimRandom(seed))
        assert flipped[:35] == bytes(35)
