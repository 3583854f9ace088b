"""An instance on another disk begins with the snapshots that the one before it has left in a directory that both see."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.streams.application import application_environment
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import until

WORDS = [f"w{number % 23}" for number in range(200)]


class Restored:
    """Takes down where each restoration begins."""

    def __init__(self) -> None:
        self.starts: dict[TopicPartition, int] = {}

    def on_restore_start(
        self, changelog: TopicPartition, _store: str, starting_offset: int, _end: int
    ) -> None:
        self.starts[changelog] = starting_offset

    def on_batch_restored(self, *_: object) -> None:
        """Says nothing new."""

    def on_restore_end(self, *_: object) -> None:
        """As above."""

    def on_restore_suspended(self, *_: object) -> None:
        """As above."""


async def test_an_instance_on_another_disk_begins_with_snapshots(
    instances: Instances,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(
        application_environment, "SnapshotPlan", partial(SnapshotPlan, records_min=1)
    )
    shared = tmp_path / "shared"
    settings: dict[str, Any] = {  # Any: settings of any type
        "checkpoint_directory": str(shared),
        "checkpoint_interval_ms": 0,
    }

    def snapshots() -> set[str]:
        """The tasks that have a whole one."""
        found = (shared / instances.application).glob("*/[!.]*/SNAPSHOT")
        return {each.parent.parent.name for each in found}

    await instances.put(WORDS)
    async with instances.new(**settings):
        await instances.until_counted(WORDS)
        await until(lambda: len(snapshots()) == PARTITIONS)
    restored = Restored()
    with caplog.at_level("INFO"):
        async with instances.new(restore_listener=restored, **settings):
            await instances.put(WORDS)
            await instances.until_counted(WORDS * 2)
    assert caplog.text.count("begins with") == PARTITIONS
    assert 0 not in restored.starts.values(), "what a snapshot has is not restored"


def test_snapshots_do_not_lie_where_the_stores_do(instances: Instances, tmp_path: Path) -> None:
    same = str(tmp_path / "same")
    with pytest.raises(ConfigError, match="need a directory of their own"):
        instances.new(state_dir=same, checkpoint_directory=f"{same}/../same")
