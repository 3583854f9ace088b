"""A large partition moves under a throttle: at that rate, at another one when that is changed, and also while controllers change."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients import NewTopic
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.soak.cluster.world import LIMIT_S, another_leads, say, three
from tests.soak.replication.world import wait_until

MEGABYTE: Final = 1_000_000
SIZE_MB: Final = int(os.environ.get("MILLSTREAM_SOAK_CLUSTER_MOVE_MB", "200"))
"""Of the partition. The plan's own figure is 2,000."""
RATE: Final = SIZE_MB * MEGABYTE // 90
"""Bytes a second. What is measured below takes some 80 seconds' worth of it."""
WINDOW_S: Final = 12.0
"""Kafka's window (`replication.quota.window.num` of a second each) and a bit: what a higher rate allows of it at once is over by then."""
MEASURED_S: Final = 10.0
TOLERANCE: Final = 0.15
VALUE: Final = b"v" * 100_000
NAME: Final = "large"
PARTITION: Final = TopicPartition(NAME, 0)

pytestmark = [
    pytest.mark.nodes,
    pytest.mark.soak,
    pytest.mark.timeout(LIMIT_S * 4 + SIZE_MB),
]


def test_a_move_keeps_to_its_throttle_and_outlives_the_active_controller(tmp_path: Path) -> None:
    with three(roles="separate") as cluster:
        _create(cluster)
        plan = tmp_path / "plan.json"
        moved = [{"topic": NAME, "partition": 0, "replicas": [1, 3]}]
        plan.write_text(json.dumps({"version": 1, "partitions": moved}))
        _reassign(cluster, "execute", str(plan), "--throttle", str(RATE))
        arriving = _Arriving(cluster, 3)
        first = arriving.rate()
        controller = cluster.active_controller()
        cluster.kill(controller)
        another_leads(cluster, controller)
        second = arriving.rate()
        _reassign(cluster, "execute", str(plan), "--additional", "--throttle", str(2 * RATE))
        time.sleep(WINDOW_S)
        third = arriving.rate()
        assert not arriving.is_complete, "the last rate was measured while it moved"
        wait_until(cluster, NAME, lambda found: bool(found) and sorted(found[0].isr) == [1, 3])
        _verify(cluster, str(plan))
        say(
            f"{SIZE_MB} MB at {RATE / MEGABYTE:.0f} MB/s: {first / MEGABYTE:.2f}, under the next controller "
            f"{second / MEGABYTE:.2f}, at twice the rate {third / MEGABYTE:.2f} MB/s"
        )
        cluster.restart(controller)
        assert abs(first / RATE - 1) < TOLERANCE
        assert abs(second / RATE - 1) < TOLERANCE
        assert abs(third / (2 * RATE) - 1) < TOLERANCE
        with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
            assert consumer.end_offsets([PARTITION]) == {PARTITION: SIZE_MB * 10}


def _create(cluster: Cluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(NAME, assignments=[[1, 2]])]).raise_errors()
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for _ in range(SIZE_MB * MEGABYTE // len(VALUE)):
            producer.send(NAME, VALUE, partition=0)


def _reassign(cluster: Cluster, *arguments: str) -> None:
    command = ["cluster", "reassign", *arguments, "-b", cluster.bootstrap_servers]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output


def _verify(cluster: Cluster, plan: str) -> None:
    """The end of a reassignment takes its throttle away."""
    _reassign(cluster, "verify", plan)
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert admin.list_partition_reassignments() == {}


class _Arriving:
    """The files of the partition on the broker that it moves to."""

    def __init__(self, cluster: Cluster, node: int) -> None:
        """Returns when the first window is over."""
        self._directory = Path(cluster.data)
        self._pattern = f"*{node}*/**/{NAME}-0/*.log"
        deadline = time.monotonic() + LIMIT_S
        while not self._size():
            assert time.monotonic() < deadline, "nothing comes"
            time.sleep(0.05)
        time.sleep(WINDOW_S)

    @property
    def is_complete(self) -> bool:
        return self._size() >= SIZE_MB * MEGABYTE

    def rate(self) -> float:
        """Returns the bytes a second that come in the next seconds."""
        size, begin = self._size(), time.monotonic()
        time.sleep(MEASURED_S)
        return (self._size() - size) / (time.monotonic() - begin)

    def _size(self) -> int:
        return sum(file.stat().st_size for file in self._directory.glob(self._pattern))
