"""The console shows what its user may see, and no page is lost because of what the user may not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from millstream.clients import Consumer
from millstream.clients.admin import Operation, ResourceType
from millstream.console.cluster_reader import ClusterReader
from millstream.console.views.paging import Selection
from millstream.errors import TopicAuthorizationFailed
from tests.compat.permissions.users import KafkaWithUsers
from tests.integration.rights.cases import Case
from tests.patience import LONG_ENOUGH_MS
from tests.support.rights import Right, rights

CONSOLE = rights("The console")
RECORDS = 2


@asynccontextmanager
async def console(
    kafka: KafkaWithUsers, *lacking: Right
) -> AsyncIterator[tuple[Case, ClusterReader]]:
    case = await Case.of(kafka, [each for each in CONSOLE if each not in lacking])
    await case.create("shop-orders", records=RECORDS)
    async with Consumer(
        **case.kafka.admin_settings,
        group_id=case.name("shop-billing"),
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([case.name("shop-orders")])
        await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
        await consumer.commit()
    reader = ClusterReader(case.settings, LONG_ENOUGH_MS)
    try:
        yield case, reader
    finally:
        await reader.close()


async def shown(case: Case, reader: ClusterReader) -> str:
    """The text of all pages but that of the topic."""
    pages = [
        await reader.overview(),
        await reader.brokers(),
        await reader.topics(Selection()),
        await reader.groups(Selection()),
    ]
    return "\n".join(map(str, pages))


def refused(case: Case, text: str) -> bool:
    """Whether something of the case is refused, or of the cluster. Groups of others are listed, too."""
    of_case = rf"{case.prefix}[a-z-]+: [^:]*Not authorized"
    return (
        re.search(f"{of_case}|Not authorized for this operation on the cluster", text) is not None
    )


async def test_with_these_rights(kafka: KafkaWithUsers) -> None:
    async with console(kafka) as (case, reader):
        text = await shown(case, reader)
        assert case.name("shop-orders") in text
        assert case.name("shop-billing") in text
        assert not refused(case, text)
        topic = await reader.topic(case.name("shop-orders"))
        assert len(topic.records.records) == RECORDS
        assert not refused(case, str(topic))
        assert not refused(case, str(await reader.group(case.name("shop-billing"))))


@pytest.mark.parametrize("lacking", CONSOLE, ids=str)
async def test_without_one_of_them(kafka: KafkaWithUsers, lacking: Right) -> None:
    async with console(kafka, lacking) as (case, reader):
        text = await shown(case, reader)
        if lacking.operation is Operation.READ:
            assert case.name("shop-orders") not in text
            with pytest.raises(TopicAuthorizationFailed, match=case.name("shop-orders")):
                await reader.topic(case.name("shop-orders"))
            return
        assert case.name("shop-orders") in text
        topic = await reader.topic(case.name("shop-orders"))
        assert len(topic.records.records) == RECORDS
        if lacking.operation is Operation.DESCRIBE_CONFIGS:
            assert refused(case, str(topic))
        elif lacking.resource_type is ResourceType.GROUP:
            assert refused(case, text), (
                "who may describe the cluster is told the names of all groups"
            )
        else:
            assert "Not authorized for this operation on the cluster" in text
