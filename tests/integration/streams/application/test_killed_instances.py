"""Instances that are killed: others go on with their tasks, and each record counts once."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.testing.broker import Broker
from tests.integration.streams.application.killing import count_while_killing


@pytest.mark.slow
async def test_instances_that_are_killed_again_and_again_count_each_record_once(
    broker: Broker, tmp_path: Path
) -> None:
    await count_while_killing(broker, tmp_path, seed=5, kills=3, broker_too=False)
