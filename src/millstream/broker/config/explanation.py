"""Explains one setting without a running node: `millstream config explain`."""

from __future__ import annotations

from millstream.broker.config.other_keys import ignored_update_mode, why_without_effect
from millstream.broker.config.sasl_settings import is_of_listener
from millstream.broker.config.sources import Setting, Settings
from millstream.broker.config.standing_alone import SETTINGS_ALONE, stands_alone
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.topic_config_table import TOPIC_CONFIGS


def explanation(name: str, settings: Settings) -> dict[str, str | None] | None:
    """Explains a key field by field; None for a key that neither Kafka nor this broker knows.

    Raises ConfigError for a bad value.
    """
    key = BROKER_CONFIGS.get(name)
    if key is not None:
        return _of_key(key, settings)
    reason = why_without_effect(name)
    if reason is None:
        return None
    mode = ignored_update_mode(name)
    given = settings.given.get(name)
    of_listener = is_of_listener(name)
    value = given.value if given else None
    return {
        "key": name,
        "value": "[hidden]" if of_listener and value is not None else value,
        "source": given.source if given else None,
        "effect": reason if of_listener else f"none here: {reason}",
        "dynamic": mode.value if mode else None,
    }


def nearest(name: str) -> str | None:
    """Returns the setting whose name is nearest to one that is not known; None where none is near."""
    import difflib  # only to name a spelling mistake

    found = difflib.get_close_matches(name, BROKER_CONFIGS, n=1)
    return found[0] if found else None


def _counting(name: str, settings: Settings) -> str | None:
    """Of the names that one setting has in several units, the one that counts now: the finest that is set,
    else the one with the default.

    None for a setting that has but one name.
    """
    for key in TOPIC_CONFIGS.values():
        names = [synonym.name for synonym in key.synonyms]
        if len(names) > 1 and name in names:
            return next((each for each in names if each in settings.given), names[-1])
    return None


def _of_key(key: ConfigKey, settings: Settings) -> dict[str, str | None]:
    given = settings.given.get(key.name)
    if given is None and key.name in SETTINGS_ALONE and stands_alone(settings.values):
        given = Setting(SETTINGS_ALONE[key.name], "a node that names no quorum")
    value = key.format(key.parse(given.value)) if given else key.default_text
    counting = _counting(key.name, settings)
    effect: dict[str, str | None] = {}
    if counting is not None and counting != key.name:
        inner = _of_key(BROKER_CONFIGS[counting], settings)
        effect["effect"] = (
            f"none now: {counting} counts, which is {inner['value']} ({inner['source']})"
        )
    return {
        "key": key.name,
        "value": "[hidden]" if key.sensitive and value is not None else value,
        "source": given.source if given else "default",
        **effect,
        "default": key.default_text,
        "type": key.type.name.lower(),
        "allowed": key.validator.allowed if key.validator else "any",
        "dynamic": key.dynamic.value,
        "meaning": key.meaning,
    }
