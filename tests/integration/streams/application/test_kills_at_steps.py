"""Applications killed at named steps of their tasks: a sample of what `make soak` does with every shape, victim and step."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.streams import StoreType
from millstream.streams.config import GroupProtocol
from millstream.streams.runtime.steps import Step
from tests.support.kills.killed_instances import killed
from tests.support.kills.orders import PROCESSING, Order, Victim
from tests.support.kills.ways import Way

SEED = 15


@pytest.mark.slow
async def test_outputs_and_stores_are_exact_when_anything_is_killed_at_any_step(
    tmp_path: Path,
) -> None:
    way = Way(
        "window", StoreType.ROCKSDB, use_processes=False, protocol=GroupProtocol.STREAMS, threads=1,
        standby_replicas=0,
    )  # fmt: skip
    wanted = [
        Order(Victim.INSTANCE, Step.COMMITTED),
        Order(Victim.THREAD, PROCESSING, 5),
        Order(Victim.BROKER, Step.OFFSETS_SENT),
    ]
    assert await killed(way, wanted, SEED, tmp_path) == wanted


@pytest.mark.slow
async def test_orders_before_a_repartition_topic_count_in_time_when_their_instance_is_killed_in_the_middle(
    tmp_path: Path,
) -> None:
    way = Way(
        "orders", StoreType.IN_MEMORY, use_processes=False, protocol=GroupProtocol.STREAMS, threads=2,
        standby_replicas=0, instances=1,
    )  # fmt: skip
    wanted = [Order(Victim.INSTANCE, PROCESSING, 400), Order(Victim.THREAD, Step.PRODUCED, 2)]
    assert await killed(way, wanted, SEED, tmp_path) == wanted
