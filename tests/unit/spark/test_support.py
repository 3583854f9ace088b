"""What Spark cannot give yet is refused when the application is made, before anything is created."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import ConfigError
from millstream.spark.pipeline.plan import require_supported
from millstream.streams.config import StreamsConfig

CONFIG = StreamsConfig("app")


def test_waiting_for_empty_topics_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_task_idle_ms=5 has no effect on Spark"):
        require_supported(replace(CONFIG, max_task_idle_ms=5))
    for goes_on in (0, -1):
        require_supported(replace(CONFIG, max_task_idle_ms=goes_on))
