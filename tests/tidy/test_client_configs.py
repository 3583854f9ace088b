"""Each setting of Kafka's Java clients is one of ours, or it is said what to do instead."""

from __future__ import annotations

import pytest

from codegen.client_configs import java_keys, missing
from millstream.clients.config.java_keys import JAVA_ONLY, java_only


@pytest.mark.parametrize("key", sorted(java_keys()))
def test_a_key_is_supported_or_answered(key: str) -> None:
    assert not missing(key) or java_only(key)


def test_answers_are_for_keys_that_exist() -> None:
    assert JAVA_ONLY.keys() <= java_keys().keys()
