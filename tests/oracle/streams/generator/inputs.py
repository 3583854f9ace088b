"""Random inputs of a specification, by the hints in its topics (`in`) and in `gen`.

Time goes forward in small steps with late records and jumps among them, keys and values come from small sets, so
that records of one key meet in windows and joins.
"""

from __future__ import annotations

import random

KEYS = ["a", "b", "c", "d", "e"]
KEY_SETS = {
    "fk": ["f1", "f2", "f3", "f4"],
    "mod3": ["m0", "m1", "m2"],
    "words": ["ant", "apple", "bat", "banana", "bear", "cat", "crow", "deer", "dog", "emu"],
}
_UNREADABLE = {"hex": "00ff"}
HEADERS = [["h1", "x"], ["h2", "y"], ["h1", "z"], ["empty", None]]


def random_inputs(spec: dict, rng: random.Random) -> list[dict]:
    """What a case of this specification pipes in: records and movements of the wall clock."""
    hints = spec.get("gen", {})
    topics = {name: topic for name, topic in spec["topics"].items() if "in" in topic}
    ending = [name for name, topic in topics.items() if "ends" in topic["in"]]
    topics = {name: topic for name, topic in topics.items() if name not in ending}
    if not topics:
        return []
    times = _times(hints, rng)
    keys = KEYS[: hints.get("keys", rng.randint(2, 5))]
    inputs = []
    for number in range(rng.randint(*hints.get("count", [15, 40]))):
        if rng.random() < hints.get("wall", 0):
            inputs.append({"advanceWallClock": rng.randint(*hints.get("wall_ms", [1, 20]))})
            continue
        weights = [topic["in"].get("weight", 1) for topic in topics.values()]
        name = rng.choices(list(topics), weights)[0]
        topic = topics[name]
        record = {
            "topic": name,
            "key": _key(topic, keys, rng),
            "value": _value(topic, number, rng),
            "ts": -1 if rng.random() < topic["in"].get("negative", 0) else next(times),
        }
        if rng.random() < hints.get("headers", 0):
            record["headers"] = rng.sample(HEADERS, rng.randint(1, 2))
        inputs.append(record)
    inputs += [
        {"topic": name, "key": "a", "value": _UNREADABLE, "ts": next(times)} for name in ending
    ]
    return inputs


def _times(hints: dict, rng: random.Random):
    late, now = hints.get("late", 25), rng.randint(0, 30)
    while True:
        if rng.random() < hints.get("disorder", 0.3):
            yield max(0, now - rng.randint(1, late))
            continue
        jumps = rng.random() < hints.get("jump", 0.04)
        now += rng.randint(3 * late, 5 * late) if jumps else rng.randint(0, hints.get("step", 5))
        yield now


def _key(topic: dict, keys: list[str], rng: random.Random):
    hints = topic["in"]
    if rng.random() < hints.get("null_key", 0.02):
        return None
    if topic["key"] in {"long", "integer"}:
        return rng.randint(1, len(keys))
    if topic["key"] == "bytes":
        return f"hex:{rng.randint(0, 3):02x}"
    if hints.get("keys") == "key+fk":
        return rng.choice(keys) + rng.choice(KEY_SETS["fk"])
    return rng.choice(KEY_SETS.get(hints.get("keys"), keys))


def _value(topic: dict, number: int, rng: random.Random):
    hints = topic["in"]
    if rng.random() < hints.get("null_value", 0.15):
        return None
    if rng.random() < hints.get("bad", 0):
        return dict(_UNREADABLE)
    kind, letter = hints.get("values"), rng.choice(KEYS)
    if topic["value"] in {"long", "integer"}:
        return rng.randint(-6, 12) if kind == "signed" else rng.randint(0, 9)
    if topic["value"] == "bytes":
        return "hex:" + rng.randbytes(rng.randint(0, 3)).hex()
    if kind == "letters":
        return letter
    if kind == "words":
        return rng.choice(KEY_SETS["words"])
    if kind == "csv":
        return ",".join(rng.choice(KEYS) for _ in range(rng.randint(1, 4)))
    if kind == "fk" and rng.random() >= 0.12:
        return f"{rng.choice(KEY_SETS['fk'])}:{letter}{number}"
    return f"{letter}{number}"
