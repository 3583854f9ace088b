"""Leaders that are killed, stopped and paused under load: what was acknowledged is there once, and the gap is short."""

from __future__ import annotations

import random
import time

import pytest

from tests.soak.cluster.world import KILLS, LIMIT_S, Load, say, wait_until_in_sync
from tests.soak.replication.world import (
    SESSION_S,
    TOPIC,
    all_in_sync,
    check_replicas_are_equal,
    leader_of,
    replicated,
    wait_until,
)

PARTITIONS = 3
GAP_AFTER_A_KILL_S = SESSION_S + 5
GAP_AT_A_STOP_S = 2.0

pytestmark = [pytest.mark.nodes, pytest.mark.soak, pytest.mark.timeout(LIMIT_S * (3 + KILLS))]


def test_a_leader_that_is_killed_is_followed_by_one_that_has_everything() -> None:
    with replicated(PARTITIONS) as cluster:
        with Load(cluster, TOPIC, PARTITIONS) as load:
            load.goes_on(set(load.of))
            gaps = []
            for turn in range(KILLS):
                leader = leader_of(cluster, turn % PARTITIONS)
                cluster.kill(leader)
                load.goes_on(set(load.of))
                gaps.append(max(each.take_slowest_s() for each in load.of.values()))
                cluster.restart(leader)
                wait_until(cluster, TOPIC, all_in_sync)
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)
        say(f"{KILLS} leaders killed, {load.acknowledged} records, longest gap {max(gaps):.1f} s")
        assert max(gaps) < GAP_AFTER_A_KILL_S


def test_a_leader_that_stops_hands_over() -> None:
    with replicated(PARTITIONS) as cluster:
        with Load(cluster, TOPIC, PARTITIONS) as load:
            load.goes_on(set(load.of))
            gaps = []
            for turn in range(max(1, KILLS // 4)):
                leader = leader_of(cluster, turn % PARTITIONS)
                cluster.stop(leader)
                load.goes_on(set(load.of))
                gaps.append(max(each.take_slowest_s() for each in load.of.values()))
                cluster.restart(leader)
                wait_until(cluster, TOPIC, all_in_sync)
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)
        say(
            f"{len(gaps)} leaders stopped, {load.acknowledged} records, longest gap {max(gaps):.1f} s"
        )
        assert max(gaps) < GAP_AT_A_STOP_S


def test_all_are_killed_and_started_in_any_order() -> None:
    chosen = random.Random(34)
    with replicated(PARTITIONS) as cluster:
        with Load(cluster, TOPIC, PARTITIONS) as load:
            for _ in range(3):
                load.goes_on(set(load.of))
                cluster.kill(*cluster.node_ids)
                for node in chosen.sample(cluster.node_ids, 3):
                    cluster.begin(node)
                    time.sleep(chosen.random() * 2)
                cluster.start()
                wait_until_in_sync(cluster)
                load.goes_on(set(load.of))
                wait_until(cluster, TOPIC, all_in_sync)
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)


def test_a_leader_that_stands_still_is_replaced_and_its_late_answers_contradict_nothing() -> None:
    with replicated(PARTITIONS) as cluster:
        with Load(cluster, TOPIC, PARTITIONS) as load:
            load.goes_on(set(load.of))
            paused = leader_of(cluster)
            cluster.pause(paused)
            time.sleep(30)
            load.goes_on(set(load.of))
            cluster.resume(paused)
            wait_until(cluster, TOPIC, all_in_sync)
            load.goes_on(set(load.of))
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)


def test_leaders_that_are_lost_one_after_the_other_leave_equal_logs() -> None:
    with replicated(PARTITIONS) as cluster:
        with Load(cluster, TOPIC, PARTITIONS) as load:
            for _ in range(max(1, KILLS // 4)):
                load.goes_on(set(load.of))
                first = leader_of(cluster)
                cluster.kill(first)
                wait_until(
                    cluster,
                    TOPIC,
                    lambda found, first=first: bool(found) and found[0].leader not in (first, -1),
                )
                second = leader_of(cluster)
                cluster.kill(second)
                cluster.restart(first, second)
                wait_until(cluster, TOPIC, all_in_sync)
                load.goes_on(set(load.of))
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)
