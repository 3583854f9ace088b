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

    def subscribe(self, apply: Callable[[BrokerConfig], None]) -> None:
        """`apply` is called with every change from now on."""
        self._subscribers.append(apply)

    def apply(self, image: MetadataImage) -> None:
        """Takes over the settings of `image`.

        If one cannot be used, that is logged and all settings stay as they are.
        """
        own = ConfigResource(ConfigResourceType.BROKER, str(self._static.node_id))
        overrides = {**image.broker_default_config(), **image.config(own)}
        try:
            changed = changed_config(self._static, overrides)
        except ConfigError as error:
            _LOGGER.error("dynamic configurations are not applied: %s", error)  # noqa: TRY400 - the sentence says it
            return
        if changed == self.current:
            return
        self.current = changed
        _LOGGER.info("dynamic configurations: %s", _shown(overrides))
        for apply in self._subscribers:
            apply(changed)


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


def _shown(overrides: Mapping[str, str]) -> str:
    """The value as text for the log, without anything of a key that could hold a secret."""
    return (
        ", ".join(
            f"{name}={value if name in BROKER_CONFIGS and not BROKER_CONFIGS[name].sensitive else '[hidden]'}"
            for name, value in sorted(overrides.items())
        )
        or "none"
    )
