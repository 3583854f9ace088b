"""Applications on stream threads with the rights of the guide's tables, and without each of them: they end with one error, which names the resource and the operation."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from millstream.clients import Admin, Consumer, OffsetAndMetadata
from millstream.clients.admin import (
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    Operation,
    ResourceType,
)
from millstream.clients.consumer.range_reader import RangeReader
from millstream.errors import ConfigError, MillstreamError
from millstream.model import TopicPartition
from millstream.streams import StreamsConfig
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from tests.compat.permissions.users import KafkaWithUsers
from tests.integration.rights.cases import Case, is_refusal_of
from tests.integration.streams.application.instances import counting
from tests.patience import eventually, until
from tests.support.rights import Right, rights

RECORDS = 3
GUARANTEES: Final = {"At least once": "at_least_once", "Exactly once": "exactly_once_v2"}
PROTOCOLS = ("classic", "streams")
EACH = [(kind, protocol) for kind in GUARANTEES for protocol in PROTOCOLS]
LACKING = [
    (kind, protocol, right)
    for kind, protocol in EACH
    if (kind, protocol) != ("At least once", "classic")  # nothing that the others have not
    for right in rights(kind)
    if not right.may_be_missed
]
MISSED = [(kind, right) for kind in GUARANTEES for right in rights(kind) if right.may_be_missed]


class Counted:
    """The application `counting` of the guide, over three records."""

    def __init__(
        self,
        case: Case,
        kind: str,
        protocol: str,
        directory: Path,
        **more: Any,  # Any: settings of any type
    ) -> None:
        self.case = case
        config = StreamsConfig(
            application_id=case.name("counting"),
            processing_guarantee=GUARANTEES[kind],
            group_protocol=protocol,
            state_dir=str(directory),
            commit_interval_ms=50,
            repartition_purge_interval_ms=50,
            **more,
        )
        topology = counting(case.name("clicks"), case.name("counts"))
        self.application = KafkaStreams(topology, config, case.settings)

    @classmethod
    @asynccontextmanager
    async def started(
        cls, case: Case, kind: str, protocol: str, directory: Path, **more: Any
    ) -> AsyncIterator[Counted]:
        await case.create("clicks", records=RECORDS)
        await case.create("counts")
        counted = cls(case, kind, protocol, directory, **more)
        try:
            await counted.application.start()
            yield counted
        finally:
            await counted.application.close()

    async def until_counted(self) -> None:
        """Raises what ends the application before."""
        async with RangeReader(
            **self.case.kafka.admin_settings, isolation_level="read_committed"
        ) as reader:

            async def are_written() -> bool:
                if self.application.error is not None:
                    raise self.application.error
                ends = await reader.offsets(self.case.name("counts"), -1)
                found = [
                    row["key"]
                    async for batch in reader.read(self.case.name("counts"), 0, 0, ends[0])
                    for row in batch.to_pylist()
                ]
                return Counter(found) == Counter(b"%d" % number for number in range(RECORDS))

            await eventually(are_written)

    async def until_purged(self) -> None:
        topic = self.case.name("counting-by-value-repartition")
        async with RangeReader(**self.case.kafka.admin_settings) as reader:

            async def is_purged() -> bool:
                return (await reader.offsets(topic, -2))[0] > 0

            await eventually(is_purged)


@pytest.mark.parametrize(("kind", "protocol"), EACH)
async def test_with_these_rights(
    kafka: KafkaWithUsers, kind: str, protocol: str, tmp_path: Path
) -> None:
    case = await Case.of(kafka, rights(kind))
    async with Counted.started(case, kind, protocol, tmp_path) as counted:
        await counted.until_counted()
        await counted.until_purged()


@pytest.mark.parametrize(
    ("kind", "protocol", "lacking"), LACKING, ids=["-".join(map(str, each)) for each in LACKING]
)
async def test_without_one_of_them(
    kafka: KafkaWithUsers, kind: str, protocol: str, lacking: Right, tmp_path: Path
) -> None:
    case = await Case.of(kafka, [each for each in rights(kind) if each != lacking])
    async with Counted.started(case, kind, protocol, tmp_path) as counted:
        with pytest.raises(MillstreamError) as refused:
            await counted.application.wait_ended()
        assert counted.application.state is ApplicationState.ERROR
    assert is_refusal_of(refused.value, lacking, case), repr(refused.value)


@pytest.mark.parametrize(("kind", "lacking"), MISSED, ids=[kind for kind, _ in MISSED])
async def test_without_one_that_may_be_missed(
    kafka: KafkaWithUsers,
    kind: str,
    lacking: Right,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    case = await Case.of(kafka, [each for each in rights(kind) if each != lacking])
    caplog.set_level(logging.WARNING)
    async with Counted.started(case, kind, "streams", tmp_path) as counted:
        await counted.until_counted()
        await until(lambda: "Not authorized for this topic" in caplog.text)
        assert counted.application.error is None


async def test_a_thread_that_is_a_process_says_so_too(
    kafka: KafkaWithUsers, tmp_path: Path
) -> None:
    (lacking,) = [
        each
        for each in rights("Exactly once")
        if each.is_prefix and each.operation is Operation.WRITE and each.name == "counting-"
    ]
    case = await Case.of(kafka, [each for each in rights("Exactly once") if each != lacking])
    async with Counted.started(
        case, "Exactly once", "streams", tmp_path, use_processes=True
    ) as counted:
        with pytest.raises(MillstreamError) as refused:
            await counted.application.wait_ended()
    assert is_refusal_of(refused.value, lacking, case), repr(refused.value)


GROUP = Right(Operation.ALTER_CONFIGS, ResourceType.GROUP, "counting", is_prefix=False)


@pytest.mark.parametrize(
    "more", [GROUP, replace(GROUP, operation=Operation.DESCRIBE_CONFIGS)], ids=str
)
async def test_standby_copies_are_a_setting_of_the_group(
    kafka: KafkaWithUsers, more: Right, tmp_path: Path
) -> None:
    case = await Case.of(kafka, [*rights("Exactly once"), more])
    if more.operation is Operation.DESCRIBE_CONFIGS:
        resource = ConfigResource(ConfigResourceType.GROUP, case.name("counting"))
        setting = AlterConfig("streams.num.standby.replicas", "1")
        async with Admin(**kafka.admin_settings) as admin:
            (await admin.incremental_alter_configs({resource: [setting]})).raise_errors()
    async with Counted.started(
        case, "Exactly once", "streams", tmp_path, num_standby_replicas=1
    ) as counted:
        await counted.until_counted()


async def test_who_may_not_have_standby_copies_is_told_who_may(
    kafka: KafkaWithUsers, tmp_path: Path
) -> None:
    case = await Case.of(kafka, rights("Exactly once"))
    with pytest.raises(ConfigError, match=r"num_standby_replicas=1 .*kafka-configs\.sh"):
        async with Counted.started(
            case, "Exactly once", "streams", tmp_path, num_standby_replicas=1
        ):
            pytest.fail("it has started")


@pytest.mark.parametrize("is_told_apart", [True, False])
async def test_an_application_whose_name_goes_on_after_a_hyphen_is_told_apart_by_its_group(
    kafka: KafkaWithUsers, tmp_path: Path, *, is_told_apart: bool
) -> None:
    groups = Right(Operation.DESCRIBE, ResourceType.GROUP, "counting", is_prefix=True)
    more = [groups] if is_told_apart else []
    case = await Case.of(kafka, [*rights("Exactly once"), *more])
    await case.create("counting-eu-by-airport-repartition")
    other = case.name("counting-eu-by-airport-repartition")
    async with Consumer(
        **kafka.admin_settings, group_id=case.name("counting-eu"), group_protocol="classic"
    ) as consumer:
        consumer.assign([(other, 0)])
        await consumer.commit({TopicPartition(other, 0): OffsetAndMetadata(0)})
    async with Counted.started(case, "Exactly once", "classic", tmp_path) as counted:
        if is_told_apart:
            await counted.until_counted()
        else:
            with pytest.raises(ConfigError, match=f"{other} is.*DESCRIBE on groups"):
                await counted.application.wait_ended()
