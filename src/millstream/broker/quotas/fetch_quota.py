"""Holds back the records of consumers that are above their quota, of bytes or of request time (KIP-13, KIP-124)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from millstream.broker.fetch.fetch_session import Answer
from millstream.broker.fetch.fetch_sessions import FetchContext
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import encode_response
from millstream.protocol.generated.fetch import FetchableTopicResponse, FetchResponse

_FLEXIBLE_FROM: Final = 12
_CORRELATION_ID_BYTES: Final = 4


def held_back(
    answers: Sequence[Answer], session: FetchContext, context: RequestContext, quotas: NodeQuotas
) -> FetchResponse | None:
    """Returns an answer without records for a consumer that has to wait; None where it is answered.

    Nothing of it is noted in the session: what it has not been told is told by the next answer.
    """
    size = 0
    if quotas.limits_fetch_bytes:
        news = [(key, data) for key, data in answers if session.is_news(key, data)]
        size = _size(news, context.version)
    wait_ms = quotas.charge_fetch(context, size)
    if not wait_ms:
        return None
    return FetchResponse(throttle_time_ms=wait_ms, session_id=session.known_id)


def _size(answers: Sequence[Answer], version: int) -> int:
    """Returns the bytes of an answer as Kafka counts them: its size field and its body, without the header
    (`FetchResponse.sizeOf`).
    """
    response = FetchResponse()
    topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
    for key, data in answers:
        topic = topics.get(key[:2])
        if topic is None:
            topic = topics[key[:2]] = FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id)
            response.responses.append(topic)
        topic.partitions.append(data)
    pieces = encode_response(ApiKey.FETCH, version, 0, response)
    header_bytes = _CORRELATION_ID_BYTES + (version >= _FLEXIBLE_FROM)
    return sum(len(piece) for piece in pieces) - header_bytes
