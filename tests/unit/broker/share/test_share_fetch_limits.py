"""How much one answer to a share consumer may hold."""

from __future__ import annotations

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.handlers.share_fetch import limits_of
from millstream.metadata.stored_security import quota_entity
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_fetch import ShareFetchRequest
from tests.support.handler_services import handler_services
from tests.unit.broker.quotas.test_node_quotas import context, quotas

REQUEST = ShareFetchRequest(max_bytes=1_000_000, min_bytes=50_000)


def test_a_quota_of_bytes_bounds_an_answer_and_what_it_waits_for() -> None:
    """Ten seconds of the quota, as for Fetch; else it would wait for bytes that it is never sent."""
    config = DynamicConfig(broker_config({"fetch.max.bytes": "500000"}))
    services = handler_services(config=config, quotas=quotas(consumer_byte_rate=1_000))
    asked = context(ApiKey.SHARE_FETCH)
    limits = limits_of(REQUEST, asked, services)
    assert (limits.max_bytes, limits.min_bytes) == (10_000, 10_000)
    services.quotas.use({quota_entity([("client-id", "another")]): {"consumer_byte_rate": 1}})
    limits = limits_of(REQUEST, asked, services)
    assert (limits.max_bytes, limits.min_bytes) == (500_000, 50_000)
