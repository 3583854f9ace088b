"""Says what of a Produce request its client may write, where an authorizer decides: before anything
is looked up or appended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Protocol, TypeVar

from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import Failed
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import TopicAuthorizationFailed, TransactionalIdAuthorizationFailed
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from millstream.records.batch import is_transactional_batch
from millstream.security.acl import Operation, ResourceType

Answered = ProduceResponse | Awaitable[ProduceResponse | None] | None
_TOPIC_ID_VERSION: Final = 13


class GuardServices(Protocol):
    """The services of a node that are asked here, of all those that appending takes."""

    @property
    def access(self) -> Access: ...
    @property
    def long_work(self) -> LongWork: ...
    @property
    def metadata(self) -> Metadata: ...


ServicesT = TypeVar("ServicesT", bound=GuardServices)
Produce = Callable[[ProduceRequest, RequestContext, ServicesT], Answered]
"""Appends a request, all of which may be written."""


def handle_what_is_allowed(
    request: ProduceRequest,
    context: RequestContext,
    services: ServicesT,
    produce: Produce[ServicesT],
    refuse: Failed,
) -> Answered:
    """Has `produce` append what the client may write, and answers for the rest; `refuse` makes the answer to
    a request that is refused.

    Raises TransactionalIdAuthorizationFailed.
    """
    whole = context.cut_from
    if isinstance(whole, ProduceRequest) and _is_first_part(request, whole):
        return _handle_first_part(request, whole, context, services, produce, refuse=refuse)
    return _handle(request, context, services, produce, refuse)


async def _handle_first_part(
    part: ProduceRequest,
    whole: ProduceRequest,
    context: RequestContext,
    services: ServicesT,
    produce: Produce[ServicesT],
    *,
    refuse: Failed,
) -> ProduceResponse | None:
    """A transactional batch in any part decides about all of them, before one is appended."""
    async for data in services.long_work.in_turns(_partitions_of(whole)):
        if is_transactional_batch(data.records):
            _check_transactional_id(whole, context, services.access)
            break
    answered = _handle(part, context, services, produce, refuse)
    return await answered if isinstance(answered, Awaitable) else answered


def _handle(
    request: ProduceRequest,
    context: RequestContext,
    services: ServicesT,
    produce: Produce[ServicesT],
    refuse: Failed,
) -> Answered:
    names: list[str] = []
    is_transactional = False
    for topic in request.topic_data:
        name = _name(topic, context.version, services.metadata)
        if name is not None:
            names.append(name)
        for data in topic.partition_data:
            if is_transactional_batch(data.records):
                is_transactional = True
    if is_transactional:
        _check_transactional_id(request, context, services.access)
    denied = services.access.denied(context, Operation.WRITE, ResourceType.TOPIC, names)
    if not denied:
        return produce(request, context, services)
    allowed: list[TopicProduceData] = []
    refused: list[TopicProduceData] = []
    for topic in request.topic_data:
        is_denied = _name(topic, context.version, services.metadata) in denied
        (refused if is_denied else allowed).append(topic)
    return _with_refused(
        produce(request.replaced(topic_data=allowed), context, services),
        request.replaced(topic_data=refused),
        context.version,
        refuse,
    )


async def _with_refused(
    answered: Answered, refused: ProduceRequest, version: int, refuse: Failed
) -> ProduceResponse | None:
    """Raises NoAnswer where the producer waits for none: only the end of its connection tells it."""
    response = await answered if isinstance(answered, Awaitable) else answered
    told = refuse(refused, version, TopicAuthorizationFailed())
    assert isinstance(told, ProduceResponse), "a Produce is refused by its own response"
    if response is not None:
        response.responses += told.responses
    return response


def _check_transactional_id(
    request: ProduceRequest, context: RequestContext, access: Access
) -> None:
    """Raises TransactionalIdAuthorizationFailed for a producer that names no transactional
    id, or one that is not its own.
    """
    if request.transactional_id is None:
        raise TransactionalIdAuthorizationFailed(
            "a transactional batch needs the transactional id in the request"
        )
    access.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)


def _name(topic: TopicProduceData, version: int, metadata: Metadata) -> str | None:
    """Returns the name of the topic, whether or not there is one; None for an id that is unknown."""
    if version < _TOPIC_ID_VERSION:
        return topic.name
    found = metadata.image.topic_by_id(topic.topic_id)
    return None if found is None else found.name


def _is_first_part(request: ProduceRequest, whole: ProduceRequest) -> bool:
    return next(_partitions_of(request), None) is next(_partitions_of(whole), None)


def _partitions_of(request: ProduceRequest) -> Iterator[PartitionProduceData]:
    for topic in request.topic_data:
        yield from topic.partition_data
