"""What Kafka 4.3 has is here or says why not: every API, and every setting of its Java clients."""

from __future__ import annotations

import pytest

from codegen.client_configs import java_keys, missing
from codegen.skipped_apis import SKIPPED
from millstream.broker.requests.registry import HANDLERS
from millstream.clients.config.java_keys import JAVA_ONLY, java_only
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


@pytest.mark.parametrize("key", sorted(java_keys()))
def test_a_key_of_a_java_client_is_supported_or_answered(key: str) -> None:
    assert not missing(key) or java_only(key)


def test_answers_are_for_keys_that_exist() -> None:
    assert JAVA_ONLY.keys() <= java_keys().keys()
