"""Checks, applies and stores the acknowledgements of a ShareAcknowledge, or of a ShareFetch that carries some.

Every partition has its own outcome. Owns no records; `share_partitions` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.turns import turns_of
from millstream.broker.share.sessions import SessionKey, ShareSessionPartition
from millstream.broker.share.share_groups import ShareGroups, share_key
from millstream.coordinator.share_partition.acknowledgement import (
    AcknowledgementBatch,
    check_batches,
)
from millstream.errors import InvalidRequest, KafkaError, UnknownTopicId
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated import share_acknowledge, share_fetch
from millstream.security.acl import Operation, ResourceType

Acknowledgements = Mapping[ShareSessionPartition, Sequence[AcknowledgementBatch]]
Outcomes = dict[ShareSessionPartition, KafkaError | None]

RequestTopic = share_fetch.FetchTopic | share_acknowledge.AcknowledgeTopic


async def acknowledgements_of(
    topics: Iterable[RequestTopic], long_work: LongWork
) -> Acknowledgements:
    """Returns the acknowledgements in a request, of the partitions that have any."""
    partitions = ((topic, partition) for topic in topics for partition in topic.partitions)
    return {
        ShareSessionPartition(topic.topic_id, partition.partition_index): [
            AcknowledgementBatch(batch.first_offset, batch.last_offset, batch.acknowledge_types)
            for batch in partition.acknowledgement_batches
        ]
        async for topic, partition in long_work.in_turns(partitions)
        if partition.acknowledgement_batches
    }


async def without_hidden(
    acknowledgements: Acknowledgements,
    others: Iterable[ShareSessionPartition],
    context: RequestContext,
    access: Access,
    *,
    image: MetadataImage,
    long_work: LongWork,
) -> tuple[Acknowledgements, AbstractSet[str]]:
    """Returns the acknowledgements of topics that may be read, and the names of those, here or
    among `others`, that may not.

    A topic id that is unknown is no topic to ask for.
    """
    partitions = dict.fromkeys((*acknowledgements, *others))
    hidden = await access.denied_of_many(
        context,
        Operation.READ,
        ResourceType.TOPIC,
        (
            topic.name
            for partition in partitions
            if (topic := image.topic_by_id(partition.topic_id)) is not None
        ),
        long_work=long_work,
    )
    if not hidden:
        return acknowledgements, hidden
    allowed = {
        partition: batches
        for partition, batches in acknowledgements.items()
        if not is_hidden(partition, hidden, image)
    }
    return allowed, hidden


def is_hidden(
    partition: ShareSessionPartition, hidden: AbstractSet[str], image: MetadataImage
) -> bool:
    topic = image.topic_by_id(partition.topic_id)
    return topic is not None and topic.name in hidden


async def acknowledge(
    share: ShareGroups,
    image: MetadataImage,
    session: SessionKey,
    acknowledgements: Acknowledgements,
    *,
    may_renew: bool,
) -> Outcomes:
    """Acknowledges; returns when the acknowledgements of every partition are stored or refused."""
    outcomes: Outcomes = {}
    for part in turns_of(list(acknowledgements.items())):
        if outcomes:
            await share.long_work.next_turn()
        results = await asyncio.gather(
            *(
                _acknowledge(share, image, session, partition, batches, may_renew=may_renew)
                for partition, batches in part
            )
        )
        outcomes.update(zip((partition for partition, _ in part), results, strict=True))
    return outcomes


async def _acknowledge(
    share: ShareGroups,
    image: MetadataImage,
    session: SessionKey,
    partition: ShareSessionPartition,
    batches: Sequence[AcknowledgementBatch],
    *,
    may_renew: bool,
) -> KafkaError | None:
    try:
        if image.topic_by_id(partition.topic_id) is None:
            raise UnknownTopicId
        check_batches(batches, may_renew=may_renew)
        await share.partitions.acknowledge(
            share_key(session, partition), session.member_id, batches
        )
    except InvalidRequest as error:
        return error
    except KafkaError as error:
        return error
    return None
