"""Says what of a Produce request its client may write, where an authorizer decides: before anything is looked up or appended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from millstream.broker.node.long_work import LongWork
from millstream.broker.node.services import Metadata
from millstream.broker.requests.access import Access
from millstream.broker.requests.failure import Failed
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.transactions.transactional_produce import has_transactional_batch
from millstream.errors import TopicAuthorizationFailed, TransactionalIdAuthorizationFailed
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from millstream.security.acl import Operation, ResourceType

Answered = ProduceResponse | Awaitable[ProduceResponse | None] | None
_TOPIC_ID_VERSION = 13


class ProduceGuard:
    """Passes on what the client may write, and answers for the rest."""

    def __init__(
        self,
        access: Access,
        metadata: Metadata,
        long_work: LongWork,
        produce: Callable[[ProduceRequest], Answered],
        refuse: Failed,
    ) -> None:
        """`produce` appends a request; `refuse` makes the answer to one of which all is refused."""
        self._access = access
        self._metadata = metadata
        self._long_work = long_work
        self._produce = produce
        self._refuse = refuse

    def handle(self, request: ProduceRequest, context: RequestContext) -> Answered:
        """Raises TransactionalIdAuthorizationFailed."""
        whole = context.cut_from
        if isinstance(whole, ProduceRequest) and _is_first_part(request, whole):
            return self._handle_first_part(request, whole, context)
        return self._handle(request, context)

    async def _handle_first_part(
        self, part: ProduceRequest, whole: ProduceRequest, context: RequestContext
    ) -> ProduceResponse | None:
        """A transactional batch in any part decides about all of them, before one is appended."""
        async for data in self._long_work.in_turns(_partitions_of(whole)):
            if has_transactional_batch(data):
                self._check_transactional_id(whole, context)
                break
        answered = self._handle(part, context)
        return await answered if isinstance(answered, Awaitable) else answered

    def _handle(self, request: ProduceRequest, context: RequestContext) -> Answered:
        if any(map(has_transactional_batch, _partitions_of(request))):
            self._check_transactional_id(request, context)
        named = [(topic, self._name(topic, context.version)) for topic in request.topic_data]
        denied = self._access.denied(
            context,
            Operation.WRITE,
            ResourceType.TOPIC,
            [name for _, name in named if name is not None],
        )
        if not denied:
            return self._produce(request)
        allowed = [topic for topic, name in named if name not in denied]
        refused = [topic for topic, name in named if name in denied]
        return self._with_refused(
            self._produce(request.replaced(topic_data=allowed)),
            request.replaced(topic_data=refused),
            context.version,
        )

    async def _with_refused(
        self, answered: Answered, refused: ProduceRequest, version: int
    ) -> ProduceResponse | None:
        """Raises NoAnswer where the producer waits for none: only the end of its connection tells it."""
        response = await answered if isinstance(answered, Awaitable) else answered
        told = self._refuse(refused, version, TopicAuthorizationFailed())
        assert isinstance(told, ProduceResponse), "a Produce is refused by its own response"
        if response is not None:
            response.responses += told.responses
        return response

    def _check_transactional_id(self, request: ProduceRequest, context: RequestContext) -> None:
        """Raises TransactionalIdAuthorizationFailed for a producer that names no transactional id, or one that is not its own."""
        if request.transactional_id is None:
            raise TransactionalIdAuthorizationFailed(
                "a transactional batch needs the transactional id in the request"
            )
        self._access.check(
            context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
        )

    def _name(self, topic: TopicProduceData, version: int) -> str | None:
        """Returns the name of the topic, whether or not there is one; None for an id that is unknown."""
        if version < _TOPIC_ID_VERSION:
            return topic.name
        found = self._metadata.image.topic_by_id(topic.topic_id)
        return None if found is None else found.name


def _is_first_part(request: ProduceRequest, whole: ProduceRequest) -> bool:
    return next(_partitions_of(request), None) is next(_partitions_of(whole), None)


def _partitions_of(request: ProduceRequest) -> Iterator[PartitionProduceData]:
    for topic in request.topic_data:
        yield from topic.partition_data
