"""InitProducerId: a producer id and epoch, for producers that want their retries recognised.

Versions 0-5. A producer without a transactional id always gets a new id with epoch 0, whatever id and epoch it says it had
(from version 3 on it may say so). Ids come out of blocks that the controller allocates.
Not supported: transactional ids. They are refused with UNSUPPORTED_VERSION, which clients treat as fatal, rather than given
an id whose transactions nobody would coordinate.
"""

from __future__ import annotations

from millstream.broker.api_spec import ApiSpec
from millstream.broker.request_context import RequestContext
from millstream.errors import InvalidRequest, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

API = ApiSpec(ApiKey.INIT_PRODUCER_ID, versions=range(6))


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise InvalidRequest(
                "a transactional id must not be empty; leave it out for an idempotent producer"
            )
        raise UnsupportedVersion(
            "this broker does not serve transactions yet; produce without a transactional id"
        )
    producer_id = await context.node.producer_ids.next()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
