"""Asks a Kafka what becomes of the configurations that it tells, when they are set again: how kafka_4_3_1_config_changes.tsv was made.

    python tests/golden/record_kafka_configs.py 127.0.0.1:PORT tests/golden/kafka_4_3_1_config_changes.tsv

The Kafka: one node with id 1, formatted by `kafka-storage` as it is, with the default settings but for addresses and directories.
Every key that DescribeConfigs tells is set by IncrementalAlterConfigs to its own value (`value_to_set` where it has none), and, where
it may change at all, to each of SAMPLES, with `validate_only`; then all keys of a resource that were taken are given to AlterConfigs
at once. Nothing is changed but that the topic `told` is made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

sys.path.insert(0, str(Path(__file__).parents[2]))

from millstream.protocol.enums import ConfigType
from tests.oracle.broker.session import Session

SAMPLES = ("-2", "-1", "0", "1", "1.5", "9999999999", "x", "", "true", "a,a")
FIXED = 42
"""INVALID_REQUEST: the key cannot be set while a broker runs, or not to its own value."""
HEADER = (
    "# What Kafka 4.3.1 answers when what it told is set again: kind, key or * for all it takes at once, error code, and those for "
    f"{' '.join(repr(sample) for sample in SAMPLES)}; tabs between them."
)
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
RESOURCES = {"broker": (BROKER, "1"), "all-brokers": (BROKER, ""), "topic": (TOPIC, "told"),
             "group": (GROUP, "told"), "client-metrics": (CLIENT_METRICS, "told")}  # fmt: skip
NUMBERS = {ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.DOUBLE}


class Asking:
    def __init__(self, bootstrap: str) -> None:
        self.session = Session(bootstrap, "configurations")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def create_topic(self) -> None:
        topic = {"name": "told", "num_partitions": 1, "replication_factor": 1}
        self.session.ask("CreateTopics", 7, topics=[topic], timeout_ms=10_000)

    def told(self, kind: str) -> dict[str, str]:
        """By key, what can be set again. All brokers together have what one of them has."""
        resource_type, name = RESOURCES["broker" if kind == "all-brokers" else kind]
        resource = {"resource_type": resource_type, "resource_name": name}
        answer = self.session.ask(
            "DescribeConfigs", 4, resources=[{**resource, "configuration_keys": None}]
        )
        return {
            config.name: value_to_set(config.value, config.config_type)
            for config in sorted(answer.results[0].configs, key=lambda config: config.name)
        }

    def set_one(self, kind: str, key: str, value: str) -> int:
        resource_type, name = RESOURCES[kind]
        configs = [{"name": key, "config_operation": 0, "value": value}]
        resource = {"resource_type": resource_type, "resource_name": name, "configs": configs}
        answer = self.session.ask(
            "IncrementalAlterConfigs", 1, resources=[resource], validate_only=True
        )
        return int(answer.responses[0].error_code)

    def replace_all(self, kind: str, values: dict[str, str]) -> int:
        resource_type, name = RESOURCES[kind]
        configs = [{"name": key, "value": value} for key, value in values.items()]
        resource = {"resource_type": resource_type, "resource_name": name, "configs": configs}
        answer = self.session.ask("AlterConfigs", 2, resources=[resource], validate_only=True)
        return int(answer.responses[0].error_code)

    def rows(self) -> Iterator[tuple[str, str, int, str]]:
        """Kind of resource, key or `*` for all that were taken, error code; those of SAMPLES with commas between them."""
        self.create_topic()
        for kind in RESOURCES:
            told = self.told(kind)
            codes = {key: self.set_one(kind, key, value) for key, value in told.items()}
            for key, code in codes.items():
                samples = () if code == FIXED else SAMPLES
                yield (
                    kind,
                    key,
                    code,
                    ",".join(str(self.set_one(kind, key, each)) for each in samples),
                )
            taken = {key: value for key, value in told.items() if not codes[key]}
            yield kind, "*", self.replace_all(kind, taken), ""


def value_to_set(value: str | None, config_type: int) -> str:
    """Sensitive and unset values are told as null."""
    if value is not None:
        return value
    return "1" if config_type in NUMBERS else ""


def main(bootstrap: str, out: str) -> None:
    with Asking(bootstrap) as asking:
        lines = ["\t".join(map(str, row)) for row in asking.rows()]
    Path(out).write_text("\n".join([HEADER, *lines, ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
