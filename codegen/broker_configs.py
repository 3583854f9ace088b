"""Writes docs/reference/broker-configs.md from the tables of settings."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.broker.config_strangers import ALL_STRANGERS, Strangers
from millstream.broker.config_table import BROKER_CONFIGS
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
all of them (`cluster-wide`). Listeners cannot be changed while a broker runs, other than in Kafka.
"""

_COLUMNS = """
| key | type | default | allowed | {last}meaning |
|---|---|---|---|{rule}---|
"""

_WITHOUT_EFFECT = """
## Keys of Kafka without effect

A node reads them, warns once and goes on; DescribeConfigs does not list them.

| keys | why |
|---|---|
"""


def render() -> str:
    return "".join(
        (
            _HEADER,
            "\n## Brokers\n",
            _table(BROKER_CONFIGS.values(), dynamic=True),
            "\n## Topics\n",
            _table(TOPIC_CONFIGS.values(), dynamic=False),
            "\n## Groups\n",
            _table(GROUP_CONFIGS.values(), dynamic=False),
            "\n## Client metrics\n",
            _table(CLIENT_METRICS_CONFIGS.values(), dynamic=False),
            _WITHOUT_EFFECT,
            *(f"| {_keys(strangers)} | {strangers.reason} |\n" for strangers in ALL_STRANGERS),
        )
    )


def _table(keys: Iterable[ConfigKey], *, dynamic: bool) -> str:
    head = _COLUMNS.format(last="dynamic | " if dynamic else "", rule="---|" if dynamic else "")
    return head + "".join(
        _row(key, dynamic=dynamic) for key in sorted(keys, key=lambda key: key.name)
    )


def _row(key: ConfigKey, *, dynamic: bool) -> str:
    default = key.default_text
    cells = [
        f"`{key.name}`",
        key.type.name.lower(),
        "" if default is None else f"`{default}`" if default else "empty",
        key.validator.allowed if key.validator else "",
        *([key.dynamic.value.replace("read-only", "no")] if dynamic else []),
        key.doc,
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _keys(strangers: Strangers) -> str:
    names = sorted(strangers.names) + [f"{prefix}*" for prefix in strangers.prefixes]
    return ", ".join(f"`{name}`" for name in names)
