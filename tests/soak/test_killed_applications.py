"""Instances of an application, and their broker, killed with SIGKILL at any moment: each record counts once.

`make soak` goes on for as long as MILLSTREAM_SOAK_SECONDS says and begins with the seed MILLSTREAM_KILL_SEED. The moments are those of
the machine, so a seed repeats who is killed, and not quite when.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.application.conftest import SOON
from tests.integration.streams.application.killing import count_while_killing

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "1"))
KILLS_A_ROUND = 10

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(SOAK_SECONDS + 600),
    pytest.mark.skipif(
        not SOAK_SECONDS, reason="make soak; test_killed_instances.py is the short one"
    ),
]


async def test_each_record_counts_once_whoever_is_killed(tmp_path: Path) -> None:
    ends_at = time.monotonic() + SOAK_SECONDS
    kills = 0
    for seed in count(FIRST_SEED):
        sys.stdout.write(f"MILLSTREAM_KILL_SEED={seed}\n")
        with Broker(in_process=False, settings=SOON) as broker:
            await count_while_killing(
                broker, tmp_path / str(seed), seed, KILLS_A_ROUND, broker_too=True
            )
        kills += KILLS_A_ROUND
        sys.stdout.write(f"{kills} kills\n")
        sys.stdout.flush()
        if time.monotonic() > ends_at:
            break
    assert kills, "there was time for one"
