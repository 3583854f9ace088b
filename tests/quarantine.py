"""Tests that fail now and then, by name and with the reason, until their cause is mended.

A quarantined test is run and reported, as `XFAIL` or `XPASS` with its reason, in every run; that it fails does not fail the run.
No other failure is forgiven, and nothing is run a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

QUARANTINED: dict[str, str] = {
    "tests/integration/spark/test_topics_that_come.py::test_a_pattern_goes_on_without_a_topic_that_is_deleted": (
        "seen once to take longer than a minute: a run that is planned with a topic which is deleted before it commits waits until its "
        "transaction has timed out (30 to 40 s) and is fenced. The driver plans no such run once it has noticed the deletion; "
        "a run under way should give up the topic's offset at once"
    ),
}
"""`path::test`, of a parametrized test without its parameters: what makes it fail, and what is needed to mend it."""


def quarantine(items: Iterable[pytest.Item], reasons: Mapping[str, str] = QUARANTINED) -> None:
    for item in items:
        reason = reasons.get(item.nodeid.partition("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=f"quarantined: {reason}", strict=False))
