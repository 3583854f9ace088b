"""The settings this broker works with at the moment: what it was started with, and what was changed since.

Follows the metadata: the dynamic configurations of this broker count before those of all brokers, and both before the
file. Owns nothing that a setting steers; whoever does subscribes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from millstream.broker.config.broker_config import (
    FIXED_LISTENER_KEYS,
    FIXED_LOGIN_KEYS,
    BrokerConfig,
    changed_config,
    typed_config,
)
from millstream.broker.config.sasl_settings import changed_limits
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.config.tls_table import TLS_FIXED_KEYS
from millstream.errors import ConfigError
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType

_LOGGER = logging.getLogger(__name__)


class DynamicConfig:
    """`current` is replaced as a whole with every change."""

    def __init__(self, static: BrokerConfig) -> None:
        self._static = static
        self.current = static
        self._subscribers: list[Callable[[BrokerConfig], None]] = []
        self._told: frozenset[str] = frozenset()
        """What was said of the settings that could not be used, and still cannot."""

    def subscribe(self, apply: Callable[[BrokerConfig], None]) -> None:
        """`apply` is called with every change from now on."""
        self._subscribers.append(apply)

    def apply(self, image: MetadataImage) -> None:
        """Takes over the settings of `image`.

        A value that cannot be read is left out, as if it were not set, and told once. What cannot be used
        together is told, and all settings stay as they are. Kafka does the same
        (DynamicBrokerConfig.removeInvalidConfigs).
        """
        own = ConfigResource(ConfigResourceType.BROKER, str(self._static.node_id))
        problems: list[str] = []
        overrides = {
            **_usable(image.broker_default_config(), "all brokers", problems),
            **_usable(image.config(own), "this broker", problems),
        }
        try:
            changed = changed_config(self._static, overrides)
        except ConfigError as error:
            problems.append(f"dynamic configurations are not applied: {error}")
            changed = self.current
        self._tell(problems)
        if changed == self.current:
            return
        self.current = changed
        _LOGGER.info("dynamic configurations: %s", _shown(overrides))
        for apply in self._subscribers:
            apply(changed)

    def _tell(self, problems: list[str]) -> None:
        for problem in problems:
            if problem not in self._told:
                _LOGGER.error("%s", problem)
        self._told = frozenset(problems)


def check_broker_change(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Checks that a running broker can go from the settings `before` to those `after`. Raises ConfigError."""
    changed = typed_config({name: value for name, value in after.items() if name in BROKER_CONFIGS})
    changed_limits({}, after)
    _check_fixed(FIXED_LISTENER_KEYS, before, after)
    protocols = changed.protection.protocols.values()
    if any(protocol.has_sasl for protocol in protocols):
        _check_fixed(FIXED_LOGIN_KEYS, before, after)
    if any(protocol.has_tls for protocol in protocols):
        _check_fixed(TLS_FIXED_KEYS, before, after)


def _check_fixed(names: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> None:
    for name in names:
        key = BROKER_CONFIGS[name]
        now, wanted = (
            key.default_value if text is None else key.parse(text)
            for text in (before.get(name), after.get(name))
        )
        if wanted != now:
            raise ConfigError(
                f"{name} cannot be changed while a broker runs: change it in the broker's server.properties and start it again"
            )


def _usable(settings: Mapping[str, str], whose: str, problems: list[str]) -> dict[str, str]:
    """Returns those whose value can be read. `problems` are told of the others, and no secret."""
    usable = {}
    for name, text in settings.items():
        try:
            _check_value(name, text)
        except ConfigError as error:
            problems.append(f"the dynamic configuration of {whose} is used without {name}: {error}")
        else:
            usable[name] = text
    return usable


def _check_value(name: str, text: str) -> None:
    """Raises ConfigError."""
    changed_limits({}, {name: text})
    if name in BROKER_CONFIGS:
        BROKER_CONFIGS[name].parse(text)


def _shown(overrides: Mapping[str, str]) -> str:
    """The value as text for the log, without anything of a key that could hold a secret."""
    return (
        ", ".join(
            f"{name}={value if name in BROKER_CONFIGS and not BROKER_CONFIGS[name].sensitive else '[hidden]'}"
            for name, value in sorted(overrides.items())
        )
        or "none"
    )
