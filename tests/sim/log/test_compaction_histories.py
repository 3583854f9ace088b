"""Random histories of a compacted log: what readers at read_committed see is what was committed last.

A failure names its seed and its steps; `make sim SEEDS=1234` repeats that seed alone.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from millstream.metadata.topic_config import LogConfig
from tests.sim.log.compaction_world import COMPACT, COMPACT_AND_DELETE, CompactionWorld

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_SIM_SEEDS", "0-29").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)
STEPS = 60
_OFTEN = {
    CompactionWorld.append: 12,
    CompactionWorld.end_transaction: 8,
    CompactionWorld.roll_and_clean: 4,
    CompactionWorld.roll: 3,
    CompactionWorld.clean: 3,
    CompactionWorld.wait: 3,
    CompactionWorld.reopen: 2,
    CompactionWorld.crash: 2,
    CompactionWorld.crash_while_cleaning: 2,
    CompactionWorld.lose_snapshots: 2,
}


@pytest.mark.parametrize("config", [COMPACT, COMPACT_AND_DELETE], ids=["compact", "compact,delete"])
def test_the_latest_committed_value_of_each_key_is_what_readers_see(config: LogConfig) -> None:
    often = _OFTEN | ({CompactionWorld.delete_records: 2} if config.is_deleted else {})
    for seed in SEEDS:
        chance = Random(seed)
        world = CompactionWorld(config, chance)
        told: list[str] = []
        try:
            for step in chance.choices(list(often), list(often.values()), k=STEPS):
                told.append(step.__name__)
                step(world)
                world.check()
        except Exception as error:
            error.add_note(f"seed {seed}: {' '.join(told)}")
            raise
