"""Quorums of both kinds at levels of metadata.version before 3.7-IV2: each leads, reads what the other wrote, and raises the level."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import Admin, NewTopic
from millstream.errors import MillstreamError
from millstream.protocol.generated.metadata_records import RegisterBrokerRecord
from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.replicas import all_in_sync, described, replicated
from tests.oracle.cluster.test_quorums import SNAPSHOTS, all_tell_the_same, first_offset
from tests.oracle.cluster.work import TOOLS, consumed, led_by, new_name, produced, tool
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
ALL = (1, 2, 3)
MIX = (Kind.OURS, Kind.KAFKA, Kind.OURS)
LEVELS = {"3.3": 7, "3.5": 11, "3.7-IV1": 16}


@pytest.fixture(scope="module", params=LEVELS)
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    with of_release(request.param, tmp_path_factory) as running:
        yield running
        assert {asyncio.run(level(running, number)) for number in ALL} == {LEVELS[request.param]}
        assert running.complaints() == []


def of_release(release: str, directories: pytest.TempPathFactory) -> Nodes:
    """At the level of their format; a static quorum, as clusters of those releases have."""
    members = [Node(number, kind) for number, kind in zip(ALL, MIX, strict=True)]
    return Nodes(directories.mktemp("nodes"), members, release=release, settings=SNAPSHOTS)


async def level(nodes: Nodes, number: int) -> int:
    async with Admin(bootstrap_servers=nodes.client_address(number)) as admin:
        return (await admin.describe_features()).finalized["metadata.version"].highest


async def a_follower_goes_and_comes_back(nodes: Nodes, leader: int) -> None:
    """The leader shrinks the ISR, and lets the follower in again: before 3.6-IV0 with a new leader epoch."""
    others = [number for number in ALL if number != leader]
    topic = await replicated(nodes, [[others[0], others[1]]])
    await asyncio.to_thread(nodes.stop, others[1])
    await described(nodes, topic, lambda found: set(found[0].isr) == {others[0]})
    values = sorted(f"v{number}" for number in range(100))
    await produced(nodes.client_address(others[0]), topic, values, 1)
    await asyncio.to_thread(nodes.start, others[1])
    await all_in_sync(nodes, topic)
    assert await consumed(nodes.bootstrap_servers, topic, new_name("g"), 100) == values


async def a_snapshot_is_taken(nodes: Nodes, leader: int) -> None:
    """By a node whose log the leader has given up."""
    follower = next(n for n in ALL if nodes.kind(n) is nodes.kind(leader).other)
    await asyncio.to_thread(nodes.stop, follower)
    async with (
        asyncio.timeout(LONG_S),
        Admin(bootstrap_servers=nodes.client_address(leader)) as admin,
    ):
        end = (await admin.describe_metadata_quorum()).high_watermark
        while first_offset(nodes, leader) <= end:
            with contextlib.suppress(
                MillstreamError
            ):  # the quorum may have moved; whoever leads goes on
                topic = NewTopic(new_name("topic"), assignments=[[leader]] * 2)
                (await admin.create_topics([topic])).raise_errors()
            await asyncio.sleep(0.2)
    await asyncio.to_thread(nodes.start, follower)


@pytest.mark.parametrize("story", [a_follower_goes_and_comes_back, a_snapshot_is_taken])
@pytest.mark.parametrize("kind", list(Kind))
async def test_each_kind_leads(
    nodes: Nodes, kind: Kind, story: Callable[[Nodes, int], Coroutine[Any, Any, None]]
) -> None:
    await story(nodes, await led_by(nodes, kind))
    await all_tell_the_same(nodes)


@pytest.mark.parametrize(("feature", "sentence"), [
    ("eligible.leader.replicas.version=1", "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23"),
    ("metadata.version=6", "only supports versions 7-30"),
])  # fmt: skip
async def test_both_refuse_alike(nodes: Nodes, feature: str, sentence: str) -> None:
    for kind in Kind:
        leader = await led_by(nodes, kind)
        said = await asyncio.to_thread(
            tool, f"{TOOLS}.FeatureCommand", "--bootstrap-server", nodes.client_address(leader),
            "upgrade", "--feature", feature, fails=True,
        )  # fmt: skip
        assert sentence in said


async def test_the_level_is_raised_under_ours_and_all_tell_their_directories(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Brokers of both kinds register again with their directories."""
    with of_release("3.3", tmp_path_factory) as nodes:
        leader = await led_by(nodes, Kind.OURS)
        topic = await replicated(nodes, [[1, 2], [2, 3]])
        await asyncio.to_thread(
            tool, f"{TOOLS}.FeatureCommand", "--bootstrap-server", nodes.client_address(leader), "upgrade",
            "--release-version", "4.3",
        )  # fmt: skip
        async with asyncio.timeout(LONG_S):
            while {await level(nodes, number) for number in ALL} != {30}:  # noqa: ASYNC110 - only an answer tells
                await asyncio.sleep(0.1)
        await led_by(nodes, Kind.KAFKA)
        values = sorted(f"v{number}" for number in range(100))
        await produced(nodes.bootstrap_servers, topic, values, 2)
        assert await consumed(nodes.bootstrap_servers, topic, new_name("g"), 100) == values
        await a_follower_goes_and_comes_back(nodes, await led_by(nodes, Kind.OURS))
        await all_tell_the_same(nodes)
        for number in ALL:
            logs = (nodes.data(number) / "__cluster_metadata-0").glob("*.log")
            assert versions_in(logs)[RegisterBrokerRecord.KEY] == 4
        assert nodes.complaints() == []


def versions_in(logs: Iterable[Path]) -> dict[int, int]:
    """By the number of a kind of record, the newest version in which it is written."""
    found: dict[int, int] = {}
    for log in logs:
        for header, batch in iterate_batches(log.read_bytes()):
            for record in () if header.is_control else iterate_records(header, batch):
                value = bytes(record.value or b"")
                found[value[1]] = max(found.get(value[1], 0), value[2])
    return found
