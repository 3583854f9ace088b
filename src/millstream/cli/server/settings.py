"""The settings of a node from where users give them: a file, the environment, the command line."""

from __future__ import annotations

import os
from pathlib import Path

from millstream.broker.config.sources import Settings, gathered_settings
from millstream.properties_text import parse_properties


def read_settings(file: str | None, overrides: tuple[str, ...]) -> Settings:
    """Reads the settings of a node. Raises ConfigError, and OSError and UnicodeDecodeError for a file that cannot be read."""
    settings = parse_properties(Path(file).read_text()) if file else {}
    return gathered_settings(settings, Path(file).name if file else "", os.environ, overrides)
