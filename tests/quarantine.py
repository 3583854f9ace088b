"""Tests that fail now and then, by name and with the reason, until their cause is mended.

A quarantined test is run and reported, as `XFAIL` or `XPASS` with its reason, in every run; that it fails does not fail the run.
No other failure is forgiven, and nothing is run a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

QUARANTINED: dict[str, str] = {}
"""`path::test`, of a parametrized test without its parameters: what makes it fail, and what is needed to mend it."""


def quarantine(items: Iterable[pytest.Item], reasons: Mapping[str, str] = QUARANTINED) -> None:
    for item in items:
        reason = reasons.get(item.nodeid.partition("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"quarantined: {reason}", strict=False))
