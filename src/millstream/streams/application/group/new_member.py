"""Makes the member by which a stream thread is assigned its tasks, for the group protocol that the application has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from millstream.clients import Admin
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.net.client.tasks import uninterrupted
from millstream.streams.application.application_environment import ApplicationEnvironment
from millstream.streams.application.clients import PATIENT
from millstream.streams.application.group.classic.leader import TaskLeader
from millstream.streams.application.group.classic.member import ClassicStreamsMember
from millstream.streams.application.group.classic.membership import ClassicStreamsPolicy
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.member import StreamsMember
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.stores_on_disk import StoresOnDisk
from millstream.streams.application.thread_metadata import ThreadClientIds
from millstream.streams.config import GroupProtocol

Copies = Callable[[], Mapping[StreamsTaskId, Mapping[str, int]]]
"""Tells, by task of which the thread keeps a copy, how far its changelogs are restored."""


def new_member(
    application: ApplicationEnvironment,
    thread_name: str,
    sources: SourceTopics,
    admin: Admin,
    *,
    copies: Copies,
    other_versions: Collection[str],
) -> StreamsMember | ClassicStreamsMember:
    """Returns a member that has not joined yet. `other_versions`: as a ClassicStreamsMember has them."""
    config = application.config
    client_id = ThreadClientIds(thread_name).member
    settings = application.supplier.settings_of_member(client_id) | PATIENT
    if config.group_protocol is GroupProtocol.STREAMS:
        return StreamsMember(application.policy, settings)
    parsed = parse_settings(ConsumerConfig, settings)
    # The name of a static member is that of the instance with the number of the thread, as in Kafka Streams.
    given, number = config.group_instance_id, thread_name.rpartition("-")[2]
    policy = ClassicStreamsPolicy(
        group_id=config.application_id,
        sources=sources,
        process_id=application.policy.process_id,
        session_timeout_ms=parsed.session_timeout_ms,
        heartbeat_interval_ms=parsed.heartbeat_interval_ms,
        rebalance_timeout_ms=application.policy.rebalance_timeout_ms,
        group_instance_id=None if given is None else f"{given}-{number}",
        endpoint=config.application_server or None,
        rack=parsed.client_rack or None,
        client_tags=config.client_tags,
    )
    leader = TaskLeader(application.topology, sources, config, admin, application.clock)
    stores = StoresOnDisk(application.topology, config, Path(application.state_directory))
    stored = partial(_stored, stores, copies)
    return ClassicStreamsMember(policy, parsed, leader, stored, other_versions)


async def _stored(stores: StoresOnDisk, copies: Copies) -> Mapping[StreamsTaskId, int]:
    """Returns, by task of which the thread keeps a copy or whose stores lie here unused, how many offsets
    of its changelogs they cover.
    """
    reading = asyncio.get_running_loop().run_in_executor(None, stores.offset_sums)
    on_disk = await uninterrupted(reading)  # or whoever deletes the stores next would meet it
    kept = copies()
    known = {task: sum(offsets.values()) for task, offsets in kept.items() if offsets}
    return {**dict.fromkeys(kept, 0), **on_disk, **known}
