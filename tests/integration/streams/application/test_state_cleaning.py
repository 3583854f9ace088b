"""Stores of tasks that an instance does not have are deleted while it runs; its own stay."""

from __future__ import annotations

from pathlib import Path

from tests.integration.streams.application.instances import Instances
from tests.patience import until

WORDS = [f"w{number % 7}" for number in range(100)]


async def test_stores_of_tasks_that_others_have_are_deleted(
    instances: Instances, tmp_path: Path
) -> None:
    obsolete = tmp_path / "mine" / instances.application / "gone_0"
    (obsolete / "counts").mkdir(parents=True)
    async with instances.new(state_dir=str(tmp_path / "mine"), state_cleanup_delay_ms=200):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        await until(lambda: not obsolete.exists())
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
        assert [each.name for each in obsolete.parent.iterdir() if each.is_dir()]
