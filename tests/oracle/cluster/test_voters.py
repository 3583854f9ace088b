"""Voters of both kinds that come and go: added, removed, and a static quorum that becomes a dynamic one."""

from __future__ import annotations

import asyncio
import contextlib
import re
from functools import partial
from pathlib import Path

import pytest

from millstream.clients import Admin
from millstream.errors import KafkaError
from tests.oracle.cluster.nodes import LONG_S, Kind, Node, Nodes
from tests.oracle.cluster.work import TOOLS, created, led_by, quorum_leader, tool
from tests.support.kafka_node import NEEDS_KAFKA

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(600)]
QUORUM = f"{TOOLS}.MetadataQuorumCommand"
ALL = (1, 2, 3)
MIXES = (
    (Kind.OURS, Kind.KAFKA, Kind.OURS),
    (Kind.KAFKA, Kind.OURS, Kind.KAFKA),
)


def members(kinds: tuple[Kind, ...]) -> list[Node]:
    return [Node(number, kind) for number, kind in zip(ALL, kinds, strict=True)]


async def voters(nodes: Nodes) -> set[int]:
    async with asyncio.timeout(LONG_S), Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
        while True:
            with contextlib.suppress(KafkaError):
                return {each.replica_id for each in (await admin.describe_metadata_quorum()).voters}


async def voters_are(nodes: Nodes, expected: set[int]) -> None:
    found: set[int] = set()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONG_S):
            while (found := await voters(nodes)) != expected:
                pass  # the tool itself takes a second
    assert found == expected


def add(nodes: Nodes, number: int) -> str:
    return tool(
        QUORUM, "--bootstrap-controller", nodes.bootstrap_controllers,
        "--command-config", str(nodes.properties(number)), "add-controller",
    )  # fmt: skip


def remove(nodes: Nodes, number: int) -> str:
    return tool(
        QUORUM, "--bootstrap-controller", nodes.bootstrap_controllers, "remove-controller",
        "--controller-id", str(number), "--controller-directory-id", nodes.directory_id(number),
    )  # fmt: skip


@pytest.mark.parametrize("leading", list(Kind))
@pytest.mark.parametrize("mix", MIXES, ids="-".join)
async def test_a_voter_is_replaced_by_one_of_the_other_kind(
    tmp_path: Path, mix: tuple[Kind, ...], leading: Kind
) -> None:
    with Nodes(tmp_path, members(mix), is_dynamic=True) as nodes:
        leader = await led_by(nodes, leading)
        old = next(number for number in ALL if number != leader)
        new = 4
        await asyncio.to_thread(nodes.add, Node(new, nodes.kind(old).other))
        await asyncio.to_thread(add, nodes, new)
        await voters_are(nodes, {*ALL, new})
        await asyncio.to_thread(remove, nodes, old)
        await voters_are(nodes, {*ALL, new} - {old})
        await asyncio.to_thread(nodes.remove, old)
        await created(nodes, sorted(nodes.running))
        for kind in {nodes.kind(number) for number in nodes.running}:
            await led_by(nodes, kind)
            await created(nodes, sorted(nodes.running))
        assert nodes.complaints() == []


@pytest.mark.parametrize("leading", list(Kind))
async def test_a_leader_removes_itself(tmp_path: Path, leading: Kind) -> None:
    with Nodes(tmp_path, members(MIXES[0]), is_dynamic=True) as nodes:
        leader = await led_by(nodes, leading)
        await asyncio.to_thread(remove, nodes, leader)
        assert await quorum_leader(nodes, other_than=leader) != leader
        await voters_are(nodes, set(ALL) - {leader})
        await created(nodes, ALL)
        assert nodes.complaints() == []


@pytest.mark.parametrize("mix", [(Kind.OURS,) * 3, *MIXES], ids="-".join)
async def test_a_static_quorum_becomes_a_dynamic_one(tmp_path: Path, mix: tuple[Kind, ...]) -> None:
    """kraft.version 0 to 1, once all voters have told their directories; then a voter is added."""
    with Nodes(tmp_path, members(mix)) as nodes:
        features = f"{TOOLS}.FeatureCommand"
        at = ("--bootstrap-server", nodes.bootstrap_servers)
        for kind in sorted(set(mix)):
            await led_by(nodes, kind)
            told = await asyncio.to_thread(tool, features, *at, "describe")
            assert re.search(r"kraft.version\s.*FinalizedVersionLevel: 0", told)
        upgrade = partial(
            tool, features, *at, "upgrade", "--feature", "kraft.version=1", fails=None
        )
        # Voters tell their directories once they have followed for a while; Kafka's leader refuses it until then, too.
        async with asyncio.timeout(LONG_S):
            while "kraft.version was upgraded to 1." not in await asyncio.to_thread(upgrade):
                pass  # the tool itself takes a second
        await kraft_version_is_one_everywhere(nodes)
        async with Admin(bootstrap_servers=nodes.bootstrap_servers) as admin:
            described = await admin.describe_metadata_quorum()
        assert {each.replica_id: str(each.directory_id) for each in described.voters} == {
            number: nodes.directory_id(number) for number in ALL
        }
        await asyncio.to_thread(remove, nodes, await quorum_leader(nodes))
        assert len(await voters(nodes)) == 2
        await created(nodes, ALL)
        assert nodes.complaints() == []


async def kraft_version_is_one_everywhere(nodes: Nodes) -> None:
    async with asyncio.timeout(LONG_S):
        for number in ALL:
            async with Admin(bootstrap_servers=nodes.client_address(number)) as admin:
                while True:
                    finalized = (await admin.describe_features()).finalized
                    if "kraft.version" in finalized and finalized["kraft.version"].highest == 1:
                        break
                    await asyncio.sleep(0.2)
