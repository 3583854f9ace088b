"""The settings of a node from where users give them: a file, the environment, the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.broker.config.sources import Settings, gathered_settings
from millstream.cli.arguments import file_text
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties

if TYPE_CHECKING:
    from millstream.broker.config.broker_config import BrokerConfig

SECURE_FILE: Final = "secure.properties"
"""In the data directory of a node that was begun with `--secure`: its settings."""
SECURE_CLUSTER_FILE: Final = "secure-cluster.properties"
"""In the data directory of each node of a cluster that was begun with `--secure`."""
_BEGUN_BY: Final = {SECURE_FILE: "millstream server", SECURE_CLUSTER_FILE: "millstream cluster"}


def read_settings(file: str | None, overrides: tuple[str, ...]) -> Settings:
    """Reads the settings of a node. Raises ConfigError, and OSError for a file that cannot be read."""
    settings = read_properties(file) if file else {}
    return gathered_settings(settings, Path(file).name if file else "", os.environ, overrides)


def read_properties(file: str | Path) -> dict[str, str]:
    """Reads a file, in UTF-8 whatever the system's encoding is. Raises ConfigError and OSError."""
    text = file_text(file)
    try:
        return parse_properties(text)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def check_stays_secure(config: BrokerConfig) -> None:
    """Raises ConfigError where a node that was begun with `--secure` would serve clients who have not proved
    who they are, or without rules.
    """
    listeners = (*config.listeners, *config.controller_listeners)
    if config.authorizer_class_name and all(
        proves_clients(config, each.name) for each in listeners
    ):
        return
    for directory in config.data_directories:
        for name, command in _BEGUN_BY.items():
            if (Path(directory) / name).exists():
                raise ConfigError(
                    f"{directory} was begun with --secure, and these settings would serve it without logins or access rules: start it with "
                    f"`{command} --secure`, or remove {name} there if that is meant"
                )


def proves_clients(config: BrokerConfig, listener: str) -> bool:
    """Whether every client at this listener has proved who it is."""
    if listener in config.protection.logins:
        return True
    tls = config.protection.tls.get(listener)
    return tls is not None and tls.demands_certificates
