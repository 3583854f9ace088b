"""A specification in the making: its typed flows, fresh names, topics, and which options a call is given.

A flow is a stream or table that later calls may go on with. Its types are tracked, and whether Kafka Streams knows
its serdes at that point, so that a serde is left out only where it is inherited or the default.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

STREAM, TABLE, GLOBAL = "stream", "table", "global"
ROWS_MAX = 64
"""Joins of joins of joins would otherwise multiply without end."""


@dataclass(frozen=True, slots=True)
class Flow:
    id: str
    kind: str
    key: str
    value: str
    key_serde: bool = False
    value_serde: bool = False
    rekeyed: bool = False
    windows: dict | None = None
    versioned: bool = False
    readable: bool = True
    """Kafka Streams cannot read cogrouped tables of windows."""
    store: str | None = None
    rows: int = 1
    """About how many rows an input row makes. Calls that would make more than ROWS_MAX are left out."""

    @property
    def is_windowed(self) -> bool:
        return "windowed" in self.key


class Draft:
    """Ops in their order, topics, and the flows that later ops may take."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ops: list[dict] = []
        self.topics: dict[str, dict] = {}
        self.config: dict = {}
        self.flows: list[Flow] = []
        self.default_key = "long" if rng.random() < 0.04 else "string"
        self.default_value = rng.choice(["string", "string", "long"])
        for part, kind in (("key", self.default_key), ("value", self.default_value)):
            if kind != "string":
                self.config[f"default.{part}.serde"] = kind
        self.global_stores: list[str] = []
        self.undumpable = False
        """The oracle cannot list one of the stores: the case must end with an error, then it need not."""
        self._numbers: dict[str, int] = {}
        self._named = rng.choice([0, 0, 0.2, 0.5, 1])
        self._explicit = rng.choice([0.1, 0.5, 1])

    # Chance.

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *options):
        return self.rng.choice(options)

    # Names.

    def fresh(self, prefix: str) -> str:
        number = self._numbers[prefix] = self._numbers.get(prefix, 0) + 1
        return f"{prefix}{number}"

    def name(self, prefix: str = "n-", field: str = "name") -> dict:
        if self._named and self.chance(0.002):  # taken already, perhaps
            return {field: f"{prefix}1"}
        return {field: self.fresh(prefix)} if self.chance(self._named) else {}

    # Ops and flows.

    def add(self, op: str, source: Flow | None = None, /, **fields) -> str:
        """One op with an id of its own, which is given back."""
        made = {"id": self.fresh("o"), "op": op}
        if source is not None:
            made["from"] = source.id
        self.ops.append({**made, **fields})
        return made["id"]

    def call(self, op: str, source: Flow | None = None, /, **fields) -> None:
        """One op whose result nobody uses."""
        made = {"op": op} if source is None else {"op": op, "from": source.id}
        self.ops.append({**made, **fields})

    def keep(self, flow: Flow) -> Flow:
        self.flows.append(flow)
        return flow

    def go_on(self, flow: Flow, op_id: str, **changed) -> Flow:
        """The flow after a call that gave `op_id`; it has no store and no name of its own yet."""
        return self.keep(replace(flow, **{"id": op_id, "store": None, **changed}))

    def find(self, accepts: Callable[[Flow], bool]) -> Flow | None:
        """One of the flows, the newest more often than others."""
        found = [flow for flow in self.flows if accepts(flow)]
        if not found:
            return None
        return found[-1] if self.chance(0.5) else self.rng.choice(found)

    @contextmanager
    def nested(self) -> Iterator[list[dict]]:
        """Ops added inside go to a list of their own: the chain of a branch."""
        outer, self.ops = self.ops, []
        try:
            yield self.ops
        finally:
            self.ops = outer

    # Topics.

    def input_topic(self, key: str, value: str, **hints) -> str:
        name = self.fresh("in")
        self.topics[name] = {"key": key, "value": value, "in": hints}
        return name

    def output_topic(self, flow: Flow) -> str:
        """A new topic, or one that has these types already: sinks may share one."""
        if self.chance(0.1):
            for name, topic in self.topics.items():
                if name.startswith("out") and topic == {"key": flow.key, "value": flow.value}:
                    return name
        name = self.fresh("out")
        self.topics[name] = {"key": flow.key, "value": flow.value}
        return name

    # Serdes.

    def default_of(self, part: str) -> str:
        return self.default_key if part == "key" else self.default_value

    def serdes(self, flow: Flow, *parts: str) -> dict:
        """Serdes for the flow's `key` and `value`: those that are needed, and some that are not."""
        given = {}
        for part in parts or ("key", "value"):
            known = flow.key_serde if part == "key" else flow.value_serde
            kind = flow.key if part == "key" else flow.value
            if (not known and kind != self.default_of(part)) or self.chance(self._explicit):
                given[part] = kind
        return given

    def can_write(self, flow: Flow, *parts: str) -> bool:
        """Whether Kafka Streams has serdes that fit without being given any."""
        known = {"key": flow.key_serde, "value": flow.value_serde}
        kinds = {"key": flow.key, "value": flow.value}
        return all(known[part] or kinds[part] == self.default_of(part) for part in parts)

    def spec(self, name: str) -> dict:
        if self.undumpable:
            self._end_with_an_error()
        made = {"name": name, "topics": self.topics, "ops": self.ops}
        if self.config:
            made["config"] = self.config
        made["gen"] = self._hints()
        return made

    def _end_with_an_error(self) -> None:
        self.config.pop("deserialization.exception.handler", None)
        self.topics["end"] = {"key": "string", "value": "long", "in": {"ends": True}}
        self.ops.append({"op": "stream", "topic": "end", "consumed": {"value": "long"}})

    def _hints(self) -> dict:
        waits = any("wall_clock_time" in str(op) for op in self.ops) or self.chance(0.05)
        waits = waits or any("emit.interval" in setting for setting in self.config)
        return {
            "keys": self.rng.randint(1, 5),
            "count": [60, 100] if self.chance(0.04) else [15, 40],
            "step": self.pick(2, 5, 12),
            "disorder": self.pick(0, 0.1, 0.3, 0.5),
            "late": self.pick(5, 25, 60, 300),
            "jump": self.pick(0, 0.04, 0.1),
            "headers": self.pick(0, 0, 0.3),
            "wall": 0.2 if waits else 0,
            "wall_ms": [1, 30],
        }


def known(flow: Flow, given: dict) -> dict:
    """Which serdes Kafka Streams knows after a call that was given these."""
    return {
        "key_serde": flow.key_serde or "key" in given,
        "value_serde": flow.value_serde or "value" in given,
    }
