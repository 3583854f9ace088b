"""Every API of Kafka 4.3 is either served or listed with the reason why not."""

from __future__ import annotations

from codegen.skipped_apis import SKIPPED
from millstream.broker.requests.registry import HANDLERS
from millstream.protocol.api import VERSIONS


def test_every_api_is_served_or_skipped_with_a_reason() -> None:
    assert set(HANDLERS) | set(SKIPPED) == set(VERSIONS)
    assert not set(HANDLERS) & set(SKIPPED)
    assert all(len(reason) > 10 for reason in SKIPPED.values())


def test_no_version_is_announced_that_kafka_does_not_have() -> None:
    beyond = [
        key.name
        for key, handler in HANDLERS.items()
        if not VERSIONS[key].lowest
        <= handler.api.lowest
        <= handler.api.highest
        <= VERSIONS[key].highest
    ]
    assert not beyond
