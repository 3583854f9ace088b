"""What Spark cannot give yet is refused when the runner is made, before anything is created."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millstream.errors import ConfigError
from millstream.spark.plan import require_supported
from millstream.streams import OffsetReset, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.serdes import string
from millstream.streams.topology import Topology

CONFIG = StreamsConfig("app")


def reading(reset: OffsetReset | timedelta | None = None) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string(), reset=reset).to("out")
    return builder.build()


def test_exactly_once_is_refused() -> None:
    config = replace(CONFIG, processing_guarantee="exactly_once_v2")
    with pytest.raises(
        ConfigError, match=r"exactly_once_v2 is not built on Spark yet.*at_least_once"
    ):
        require_supported(reading(), config)


def test_waiting_for_empty_topics_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_task_idle_ms=5 has no effect on Spark"):
        require_supported(reading(), replace(CONFIG, max_task_idle_ms=5))
    for goes_on in (0, -1):
        require_supported(reading(), replace(CONFIG, max_task_idle_ms=goes_on))


def test_a_reset_that_can_never_be_met_is_refused() -> None:
    with pytest.raises(ConfigError, match="source KSTREAM-SOURCE-0000000000 has reset=NONE"):
        require_supported(reading(OffsetReset.NONE), CONFIG)
    for reset in (OffsetReset.EARLIEST, OffsetReset.LATEST, timedelta(days=1), None):
        require_supported(reading(reset), CONFIG)
