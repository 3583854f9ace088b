"""`millstream streams reset` that ends half-way tells of what it has deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext

import pytest
from click.testing import CliRunner, Result

from millstream.cli import application_reset
from millstream.cli.application_reset import reset
from millstream.cli.cluster_options import ClusterOptions
from millstream.clients.admin import Results
from millstream.errors import KafkaError, TopicAuthorizationFailed

TOPICS = ("app-a-changelog", "app-b-changelog")


class ClusterInMemory:
    """Deletes the group; of the topics it refuses the second, or is interrupted."""

    def __init__(self, *, interrupted: bool) -> None:
        self._interrupted = interrupted

    def delete_groups(self, names: Iterable[str]) -> Results[str, None]:
        return Results(dict.fromkeys(names))

    def delete_topics(self, names: Iterable[str]) -> Results[str, None]:
        if self._interrupted:
            raise KeyboardInterrupt
        results: dict[str, KafkaError | None] = dict.fromkeys(names)
        results[TOPICS[1]] = TopicAuthorizationFailed("not yours")
        return Results(results)


def run(monkeypatch: pytest.MonkeyPatch, *, interrupted: bool) -> Result:
    admin = nullcontext(ClusterInMemory(interrupted=interrupted))
    monkeypatch.setattr(ClusterOptions, "admin", lambda _: admin)
    monkeypatch.setattr(application_reset, "require_application", lambda *_: (["app"], TOPICS))
    return CliRunner().invoke(reset, ["app", "--yes", "--output", "json"])


def names(done: Result) -> list[str]:
    return [each["name"] for each in json.loads(done.stdout)]


def test_what_was_deleted_before_an_interruption_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, interrupted=True)
    assert (done.exit_code, names(done)) == (130, ["app"])


def test_what_was_deleted_beside_a_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, interrupted=False)
    assert (done.exit_code, names(done)) == (4, ["app", TOPICS[0]])
    assert "not yours" in done.stderr
