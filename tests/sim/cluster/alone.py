"""Runs one story of one seed in a process of its own, forked from this one: what came before has no part in it, so that each seed can be repeated alone.

python -m tests.sim.cluster.alone anything 17
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import subprocess
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.sim.cluster import (
    cut_off_scenarios,
    group_scenarios,
    move_scenarios,
    planted_group_bugs,
    planted_replication_bugs,
    replica_scenarios,
    scenarios,
    stories,
    voter_scenarios,
)
from tests.sim.cluster.replicas_observed import IS_INTERPRETED
from tests.sim.cluster.scenarios import layout_of
from tests.sim.cluster.world import ClusterWorld, Layout

Story = Callable[[ClusterWorld], Coroutine[Any, Any, Any]]
_TOLD_LINES: Final = 80
_LONGEST_S: Final = 600
"""Of the system's time: a world that spins is ended, and says where."""


@dataclass(frozen=True)
class Outcome:
    seed: int
    failure: str | None
    """What went wrong, with the last that nodes and clients said."""
    paths: Counter[str] = field(default_factory=Counter)
    trace: int = 0
    """Checksum of everything that went over a wire, and when."""
    virtual_s: float = 0.0
    pieces: int = 0


def interpreted(story: Story, seed: int, bug: str = "") -> Outcome:
    """As `told`, in a process that runs no compiled module: nobody can look into those, nor plant a bug there."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim.cluster.alone", story.__name__, str(seed), bug],
        env={**os.environ, "MILLSTREAM_PURE": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    return Outcome(seed, done.stderr if done.returncode else None)


def told(story: Story, seed: int, layout: Layout) -> Outcome:
    """Returns how the story ended."""
    if layout.is_replicated and not IS_INTERPRETED:
        return interpreted(story, seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with open(writing, "wb") as out:
            pickle.dump(_told_here(story, seed, layout), out)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as found:
        data = found.read()
    os.waitpid(child, 0)
    if not data:
        return Outcome(seed, f"the process of seed {seed} ended without a word")
    outcome = pickle.loads(data)
    assert isinstance(outcome, Outcome), "a child tells an outcome"
    return outcome


def _told_here(story: Story, seed: int, layout: Layout) -> Outcome:
    faulthandler.dump_traceback_later(_LONGEST_S, exit=True)
    failure = None
    with ClusterWorld(seed, layout) as world:
        try:
            world.run(story(world))
        except BaseException:  # noqa: BLE001 - whatever it is, the parent has it
            said = "\n".join(world.log[-_TOLD_LINES:])
            failure = f"{said}\n{traceback.format_exc()}seed {seed}: {layout.name}"
        trace = "\n".join(map(str, world.network.trace))
    return Outcome(
        seed,
        failure,
        world.observer.paths,
        zlib.crc32(trace.encode()),
        world.schedule.now_s,
        len(world.network.trace),
    )


def main(name: str, seed: int, bug: str = "") -> None:
    """Prints the checksum of a story's trace, and how many pieces it has. `bug`: of the modules of planted bugs, to be put in."""
    if bug:
        planted = (planted_replication_bugs, planted_group_bugs)
        getattr(next(each for each in planted if hasattr(each, bug)), bug)(pytest.MonkeyPatch())
    told_by = (
        stories, scenarios, replica_scenarios, group_scenarios, voter_scenarios, move_scenarios, cut_off_scenarios,
    )  # fmt: skip
    where = next(each for each in told_by if hasattr(each, name))
    story = getattr(where, name)
    outcome = told(story, seed, layout_of(story, seed))
    if outcome.failure is not None:
        sys.exit(outcome.failure)
    sys.stdout.write(f"{outcome.trace} {outcome.pieces}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
