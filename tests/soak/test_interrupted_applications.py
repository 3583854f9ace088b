"""Applications of every shape, interrupted by chance, with seeds that go on: `make soak` runs for as long as MILLSTREAM_SOAK_SECONDS says.
`make test` runs one: tests/integration/streams/runtime/test_shapes.py is the short one.

The test says how a seed is repeated alone.
"""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.runtime.shapes import SHAPES
from tests.integration.streams.runtime.test_shapes import interrupted

SOAK_SECONDS = float(os.environ.get("MILLSTREAM_SOAK_SECONDS", "0"))
FIRST_SEED = int(os.environ.get("MILLSTREAM_STREAMS_SEEDS", "1000").partition("-")[0])

pytestmark = [pytest.mark.soak, pytest.mark.timeout(SOAK_SECONDS + 300)]


async def test_applications_interrupted_for_long_write_what_one_run_writes(tmp_path: Path) -> None:
    ends_at = time.monotonic() + SOAK_SECONDS
    interruptions = 0
    with Broker(in_process=False) as broker:
        for seed in count(FIRST_SEED):
            for shape in SHAPES:
                directory = tmp_path / f"{seed}-{shape}"
                interruptions += await interrupted(broker, directory, shape, seed)
                if time.monotonic() > ends_at:
                    assert interruptions, "there was time for one"
                    return
