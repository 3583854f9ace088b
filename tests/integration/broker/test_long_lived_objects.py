"""A node freezes what lives long, so what it makes many of must be freed without the garbage collector."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from millstream.broker.node.long_lived_objects import LongLivedObjects
from tests.patience import LONG_ENOUGH_S

ROOT = Path(__file__).parents[3]


def test_deleted_topics_and_closed_connections_are_freed_by_their_last_reference() -> None:
    """In a process of its own: clients that other tests left running connect to brokers of this one whenever they like."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.freed_objects"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=4 * LONG_ENOUGH_S,  # it waits for three things
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "freed\n"


def test_what_a_long_collection_leaves_is_frozen_until_the_end() -> None:
    with LongLivedObjects(long_ns=0):
        kept = [[number] for number in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() > len(kept)
        assert not any(each is kept for each in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_a_short_collection_freezes_nothing() -> None:
    with LongLivedObjects(long_ns=1 << 62) as objects:
        objects.freeze_all()
        before = gc.get_freeze_count()
        assert before > 0
        kept = [[number] for number in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() <= before
        assert any(each is kept for each in gc.get_objects())
