"""Checks the configurations of a topic."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import ConfigError, InvalidConfig
from millstream.metadata.topic_config import TOPIC_CONFIGS, log_config


def check_topic_overrides(overrides: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Checks all overrides of a topic; `defaults` are the topic keys that the broker's settings imply.

    Raises InvalidConfig for unknown keys, values outside their limits, and keys that contradict each other.
    """
    for name in overrides:
        if name not in TOPIC_CONFIGS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    try:
        log_config(overrides, defaults)
    except ConfigError as error:
        raise InvalidConfig(str(error)) from error
