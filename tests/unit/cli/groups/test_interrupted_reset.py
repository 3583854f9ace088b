"""A reset of many groups that is interrupted tells of those that it has moved."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from millstream.cli.cluster_options import ClusterOptions
from millstream.cli.groups import offsets
from millstream.cli.groups.command import groups
from millstream.errors import KafkaError, NonEmptyGroup
from millstream.model import TopicPartition

A = TopicPartition("a", 0)


def test_the_groups_before_the_interruption_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(
        _admin: object, group_id: str, *_: object, **__: object
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, KafkaError]]:
        if group_id == "second":
            raise KeyboardInterrupt
        return {A: 7}, {}

    monkeypatch.setattr(ClusterOptions, "admin", lambda _: nullcontext())
    monkeypatch.setattr(offsets, "_moved", moved)
    arguments = ("--topic", "a", "--to-latest", "--execute", "--output", "json")
    done = CliRunner().invoke(groups, ["reset-offsets", "first", "second", "third", *arguments])
    assert done.exit_code == 130
    assert json.loads(done.stdout) == [
        {"group": "first", "topic": "a", "partition": 0, "new_offset": 7}
    ]
    assert done.stderr == (
        "interrupted: group second may be moved or not; those before it are told above\n"
    )


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first group is moved, the second refused, and in the third comes the interruption."""

    def moved(
        _admin: object, group_id: str, *_: object, **__: object
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, KafkaError]]:
        if group_id == "second":
            raise NonEmptyGroup("group second has members")
        if group_id == "third":
            raise KeyboardInterrupt
        return {A: 7}, {}

    monkeypatch.setattr(ClusterOptions, "admin", lambda _: nullcontext())
    monkeypatch.setattr(offsets, "_moved", moved)


@pytest.mark.usefixtures("interrupted")
def test_the_errors_before_the_interruption_are_told() -> None:
    arguments = ("--topic", "a", "--to-latest", "--execute")
    done = CliRunner().invoke(groups, ["reset-offsets", "first", "second", "third", *arguments])
    assert done.exit_code == 130
    assert "group second has members" in done.stderr
    assert "group third may be moved or not" in done.stderr


@pytest.mark.usefixtures("interrupted")
def test_an_export_that_is_interrupted_stays_csv() -> None:
    arguments = ("--topic", "a", "--to-latest", "--export", "--output", "json")
    done = CliRunner().invoke(groups, ["reset-offsets", "first", "third", *arguments])
    assert (done.exit_code, done.stdout) == (130, "a,0,7\n")
