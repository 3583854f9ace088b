"""Explains one setting without a running node: `millstream config explain`."""

from __future__ import annotations

from millstream.broker.config.other_keys import ignored_update_mode, why_without_effect
from millstream.broker.config.sources import Settings
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.metadata.config_key import ConfigKey


def explanation(name: str, settings: Settings) -> dict[str, str | None] | None:
    """Explains a key field by field; None for a key that neither Kafka nor this broker knows. Raises ConfigError for a bad value."""
    key = BROKER_CONFIGS.get(name)
    if key is not None:
        return _of_key(key, settings)
    reason = why_without_effect(name)
    if reason is None:
        return None
    mode = ignored_update_mode(name)
    given = settings.given.get(name)
    return {
        "key": name,
        "value": given.value if given else None,
        "source": given.source if given else None,
        "effect": f"none here: {reason}",
        "dynamic": mode.value if mode else None,
    }


def _of_key(key: ConfigKey, settings: Settings) -> dict[str, str | None]:
    given = settings.given.get(key.name)
    value = key.format(key.parse(given.value)) if given else key.default_text
    return {
        "key": key.name,
        "value": "[hidden]" if key.sensitive and value is not None else value,
        "source": given.source if given else "default",
        "default": key.default_text,
        "type": key.type.name.lower(),
        "allowed": key.validator.allowed if key.validator else "any",
        "dynamic": key.dynamic.value,
        "meaning": key.meaning,
    }
