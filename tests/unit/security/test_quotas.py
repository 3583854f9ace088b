"""The quota hook of a cluster that limits nobody."""

from __future__ import annotations

import pytest

from millstream.runtime import Instant
from millstream.security.quotas import UNLIMITED, QuotaKind


@pytest.mark.parametrize("kind", QuotaKind)
def test_without_quotas_nobody_waits(kind: QuotaKind) -> None:
    assert UNLIMITED.throttle_ms(kind, "User:alice", "app", 1e12, Instant(0, 0)) == 0
