"""Random calls on stores of every kind, for StoreCalls.java to answer.

    javac -cp "$JARS/*" -d classes StoreCalls.java
    python generate.py --seed 1 --count 6 | java -cp "classes:$JARS/*" StoreCalls | gzip -9n > calls.jsonl.gz

JARS holds kafka-streams-test-utils 4.3.1 with what it needs. A case is a store and batches of calls; each batch is
made while one record is processed, and committed.
"""

from __future__ import annotations

import argparse
import json
import sys
from random import Random

KEYS = ["a", "ab", "abc", "b", "ba", "c", "é"]
STORES = [
    *({"kind": "key_value", "persistent": disk, "caching": cached} for disk in (True, False) for cached in (True, False)),
    {"kind": "key_value", "persistent": False, "max": 3},
    *({"kind": "timestamped_key_value", "persistent": disk, "caching": cached} for disk in (True, False) for cached in (True, False)),
    *(
        {"kind": "window", "persistent": disk, "duplicates": twice, "window_size": 50, "retention": retention}
        for disk in (True, False) for twice in (True, False) for retention in (100, 150_000)
    ),
    *(
        {"kind": kind, "persistent": disk, "window_size": 50, "retention": retention}
        for kind in ("timestamped_window", "session") for disk in (True, False) for retention in (100, 150_000)
    ),
    *({"kind": "versioned", "persistent": True, "retention": retention} for retention in (20, 100)),
    *({"kind": "timestamped_key_value", "headers": True, "persistent": disk, "caching": cached} for disk in (True, False) for cached in (True, False)),
    *(
        {"kind": kind, "headers": True, "persistent": disk, "window_size": 50, "retention": 100}
        for kind in ("timestamped_window", "session") for disk in (True, False)
    ),
]  # fmt: skip


class Calls:
    """Calls on one store, as time goes on."""

    def __init__(self, random: Random, store: dict) -> None:
        self.random, self.store = random, store
        self.step = 2_000 if store.get("retention", 0) > 1_000 else 10
        self.now = 0
        self.values = 0

    def batch(self) -> list:
        self.now += self.random.randint(0, self.step)
        if self.random.random() < 0.08:
            self.now += self.step * self.random.randint(5, 60)
        return [self.now, [self.call() for _ in range(self.random.randint(3, 8))]]

    def call(self) -> list:
        make = getattr(self, f"_{self.store['kind']}")
        return make(self.random.random() < 0.45)

    def _key(self) -> str:
        return self.random.choice(KEYS)

    def _bounds(self) -> list[str | None]:
        """From and to; Kafka Streams' stores do not agree on what a range from high to low is."""
        low, high = sorted((self.random.choice(KEYS), self.random.choice(KEYS)))
        return [self.random.choice([None, low, low]), self.random.choice([None, high, high])]

    def _value(self, null: float = 0.2) -> str | None:
        self.values += 1
        return None if self.random.random() < null else f"v{self.values}"

    def _time(self, spread: int = 6) -> int:
        return max(
            0, self.now + self.random.randint(-spread, 1) * self.step + self.random.randint(0, 3)
        )

    def _times(self) -> list[int]:
        first = self._time(12)
        return [first, first + self.random.randint(0, 12) * self.step]

    def _key_value(self, writes: bool, timestamp: bool = False) -> list:
        def row(null: float) -> list:
            made = [self._key(), self._value(null)]
            return [*made, self._time()] if timestamp else made

        names = ["get"]
        if "max" not in self.store:  # it refuses ranges
            names += ["range", "all", "prefix_scan"]
        if not self.store.get("caching", True):  # over a cache they show rows that were deleted
            names += ["reverse_range", "reverse_all"]
            names += [] if self.store["persistent"] else ["approximate_num_entries"]
        match self.random.choice(
            ["put", "put", "put", "put_if_absent", "put_all", "delete"] if writes else names
        ):
            case "put" | "put_if_absent" as name:
                return [name, *row(0.0 if timestamp else 0.2)]
            case "put_all":
                return ["put_all", [row(0.0) for _ in range(self.random.randint(0, 3))]]
            case "delete" | "get" as name:
                return [name, self._key()]
            case "range" | "reverse_range" as name:
                return [name, *self._bounds()]
            case "prefix_scan":
                return ["prefix_scan", self.random.choice(["a", "ab", "b", "x"])]
            case name:
                return [name]

    def _timestamped_key_value(self, writes: bool) -> list:
        return self._key_value(writes, timestamp=True)

    def _window(self, writes: bool, timestamp: bool = False) -> list:
        if writes:
            put = ["put", self._key(), self._value(0.0 if timestamp else 0.2), self._time()]
            return [put[0], put[1], put[3], put[2], *([self._time()] if timestamp else [])]
        names = [
            "fetch_at",
            "fetch",
            "backward_fetch",
            "fetch_keys",
            "backward_fetch_keys",
            "fetch_all",
            "backward_fetch_all",
            "all",
            "backward_all",
        ]
        match self.random.choice(names):
            case "fetch_at":
                return ["fetch_at", self._key(), self._time()]
            case "fetch" | "backward_fetch" as name:
                return [name, self._key(), *self._times()]
            case "fetch_keys" | "backward_fetch_keys" as name:
                return [name, *self._bounds(), *self._times()]
            case "fetch_all" | "backward_fetch_all" as name:
                return [name, *self._times()]
            case name:
                return [name]

    def _timestamped_window(self, writes: bool) -> list:
        return self._window(writes, timestamp=True)

    def _session(self, writes: bool) -> list:
        start = self._time()
        session = [self._key(), start, start + self.random.choice([0, 0, 5, self.step])]
        if writes:
            return (
                ["remove", *session]
                if self.random.random() < 0.15
                else ["put", *session, self._value(0.1)]
            )
        names = ["fetch_session", "fetch", "find", "fetch_keys", "find_keys"]
        if not self.store["persistent"]:
            names.append("find_ending")  # those on disk refuse it
        match self.random.choice(names):
            case "fetch_session":
                return ["fetch_session", *session]
            case "fetch":
                return [self._either_way("fetch"), self._key()]
            case "find":
                return [self._either_way("find"), self._key(), *self._times()]
            case "fetch_keys":
                return [self._either_way("fetch_keys"), *self._bounds()]
            case "find_keys":
                return [self._either_way("find_keys"), *self._bounds(), *self._times()]
            case _:
                return ["find_ending", *self._times()]

    def _versioned(self, writes: bool) -> list:
        if writes:
            return (
                ["put", self._key(), self._value(), self._time()]
                if self.random.random() < 0.8
                else ["delete", self._key(), self._time()]
            )
        return (
            ["get", self._key()]
            if self.random.random() < 0.3
            else ["get_as_of", self._key(), self._time(12)]
        )

    def _either_way(self, name: str) -> str:
        return self.random.choice(["", "backward_"]) + name


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6, help="cases for each kind of store")
    parser.add_argument("--batches", type=int, default=12)
    options = parser.parse_args()
    for number, store in enumerate(STORES):
        for case in range(options.count):
            calls = Calls(Random(f"{options.seed}/{number}/{case}"), store)
            batches = [calls.batch() for _ in range(options.batches)]
            sys.stdout.write(json.dumps({"store": store, "batches": batches}) + "\n")


if __name__ == "__main__":
    main()
