"""Waits until an application that is killed has committed all that there is to read."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from millstream.clients import Admin, RangeReader
from millstream.model import TopicPartition
from millstream.streams.topology import Topology
from tests.patience import LONG_ENOUGH_S, WAITS_FOR_CLUSTER
from tests.support.kills.driven import APPLICATION_ID, LATEST

PATIENCE_S: Final = 3 * LONG_ENOUGH_S
"""Its instances may have to be missed first, and tasks restored."""


async def until_done(topology: Topology, servers: str) -> None:
    """Raises AssertionError where it stands still: on a busy machine a turn of a thread may take seconds."""
    topics = {
        topic
        for group in topology.sub_topologies
        if not group.is_global
        for topic in topology.topics_of(group, APPLICATION_ID).sources
    }
    async with (
        Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin,
        RangeReader(
            **WAITS_FOR_CLUSTER, bootstrap_servers=servers, isolation_level="read_committed"
        ) as reader,
    ):
        before: dict[str, int] = {}
        since = time.monotonic()
        while missing := await _left(topics, admin, reader):
            if missing != before:
                before, since = missing, time.monotonic()
            assert time.monotonic() < since + PATIENCE_S, f"is not processed: {missing}"
            await asyncio.sleep(0.1)  # nobody tells when a group has committed


async def _left(topics: set[str], admin: Admin, reader: RangeReader) -> dict[str, int]:
    """What is written later is not committed by then, and neither are the ends of open transactions. Of a topic that is not there yet -1."""
    found = (await admin.list_consumer_group_offsets([APPLICATION_ID])).result(APPLICATION_ID)
    committed = {tp: found.result(tp).offset for tp in found}
    there = topics.intersection(await admin.list_topics(include_internal=False))
    missing = dict.fromkeys(sorted(topics - there), -1)
    for topic in sorted(there):
        for partition, end in (await reader.offsets(topic, LATEST)).items():
            done = committed.get(TopicPartition(topic, partition), 0)
            if done < end:
                missing[f"{topic}-{partition}"] = end - done
    return missing
