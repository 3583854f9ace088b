"""Writes docs/reference/broker-configs.md from the tables of settings."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.broker.config.other_keys import IGNORED_KEYS, IgnoredKeys
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.metadata.client_metrics_config import CLIENT_METRICS_CONFIGS
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.group_config import GROUP_CONFIGS
from millstream.metadata.topic_config import TOPIC_CONFIGS

_HEADER = """# Settings of brokers, topics, groups and client metrics

Written by `make docs` from the tables of the code. Names, types and defaults are those of Apache Kafka 4.3; where a default is another one,
its meaning says so. Keys that begin with `millstream.` are our own.

**Where a broker's settings come from**, the strongest first:

1. what was set for this broker while it ran (`kafka-configs --entity-type brokers --entity-name ID --alter`),
2. what was set for all brokers (`--entity-default`),
3. options of `millstream server`, then `--override KEY=VALUE`,
4. the environment, as in Kafka's official image: `KAFKA_` and the key in capitals, with `_` for a dot, `__` for an underscore and `___`
   for a dash,
5. the `server.properties` given to `millstream server`,
6. the default.

`millstream config check FILE` says whether a node would start with a file; `millstream config explain KEY [FILE]` tells one value and
where it comes from. *Dynamic* says whether a value may change while the broker runs: no, for one broker (`per-broker`), or also for
all of them (`cluster-wide`); `per-listener` keys Kafka takes with a listener's prefix only, which this version refuses. What a broker tells
of its settings can be set again as it is, wherever Kafka takes it.
"""

_COLUMNS = """
| key | type | default | allowed | {last}meaning |
|---|---|---|---|{rule}---|
"""

_WITHOUT_EFFECT = """
## Broker keys without effect

Kafka's keys that are taken, stored and told with Kafka's types and defaults, and change nothing here. A node that is started with one warns.

| key | type | default | dynamic | why |
|---|---|---|---|---|
"""

_STRANGERS = """
## Other names that are passed over

No keys of Kafka 4.3; a node reads them, warns and goes on. Any other name that is not on this page is an error.

| names | why |
|---|---|
"""


def render() -> str:
    return "".join(
        (
            _HEADER,
            "\n## Brokers\n",
            _table(
                [key for key in BROKER_CONFIGS.values() if key.without_effect is None], dynamic=True
            ),
            "\n## Topics\n",
            _table(TOPIC_CONFIGS.values(), dynamic=False),
            "\n## Groups\n",
            _table(GROUP_CONFIGS.values(), dynamic=False),
            "\n## Client metrics\n",
            _table(CLIENT_METRICS_CONFIGS.values(), dynamic=False),
            _WITHOUT_EFFECT,
            *(
                _row_without_effect(key)
                for _, key in sorted(BROKER_CONFIGS.items())
                if key.without_effect is not None
            ),
            _STRANGERS,
            *(f"| {_keys(ignored)} | {ignored.reason} |\n" for ignored in IGNORED_KEYS),
        )
    )


def _table(keys: Iterable[ConfigKey], *, dynamic: bool) -> str:
    head = _COLUMNS.format(last="dynamic | " if dynamic else "", rule="---|" if dynamic else "")
    return head + "".join(
        _row(key, dynamic=dynamic) for key in sorted(keys, key=lambda key: key.name)
    )


def _row(key: ConfigKey, *, dynamic: bool) -> str:
    return _line(
        f"`{key.name}`",
        key.type.name.lower(),
        _default(key),
        key.validator.allowed if key.validator else "",
        *([_dynamic(key)] if dynamic else []),
        key.meaning,
    )


def _row_without_effect(key: ConfigKey) -> str:
    assert key.without_effect is not None, "only keys without effect are listed here"
    return _line(
        f"`{key.name}`", key.type.name.lower(), _default(key), _dynamic(key), key.without_effect
    )


def _default(key: ConfigKey) -> str:
    default = key.default_text
    return "" if default is None else f"`{default}`" if default else "empty"


def _dynamic(key: ConfigKey) -> str:
    return key.dynamic.value.replace("read-only", "no")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _keys(ignored: IgnoredKeys) -> str:
    names = sorted(ignored.names) + [f"{prefix}*" for prefix in ignored.prefixes]
    return ", ".join(f"`{name}`" for name in names)
