"""Specifications written by hand, with a few things changed: sizes, functions, options, settings, how input comes.

What is put in a place has the types of what stood there, so that the specification still makes sense.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator

_SIZES = (
    "size",
    "advance",
    "grace",
    "diff",
    "gap",
    "before",
    "after",
    "start",
    "ms",
    "every",
    "back",
)
_LIKE: dict[str, tuple[tuple[str, ...], ...]] = {
    "predicate": (
        ("true", "false", "key_null", "key_not_null", "value_null", "value_not_null", "key_lt:c"),
        ("value_even", "value_gt:4", "value_lt:6", "value_gt:-1"),
        ("value_has:a", "value_has:b", "value_longer:1", "value_longer:2"),
    ),
    "value": (
        ("plus:3", "times:-2", "mod:4", "null_if_even"),
        ("upper", "append:x", "null_if_has:a", "before::", "after:a"),
        ("key_eq_value", "key_eq_value_or_null"),
    ),
    "key": (
        ("first_char", "value_str", "before::"),
        ("key_upper", "key_append:1", "key_str"),
        ("mod_key:3", "mod_key:2"),
    ),
    "aggregator": (
        ("concat", "concat_minus", "concat_key", "concat_or_null", "tail:5"),
        ("sum", "max", "min", "sum_reset:15", "subtract"),
    ),
    "reducer": (("sum", "max", "min", "sum_reset:15", "subtract"), ("first", "last", "concat")),
    "merger": (("sum", "max", "min"), ("concat", "concat_bar")),
    "joiner": (("pair", "nest", "null_if_equal"), ("sum", "diff")),
    "initializer": (("zero", "long:5"), ("empty", "const:i")),
    "flat mapper": (("twice", "null_and_value", "none"), ("chars", "split:a")),
}
"""Functions of one role and one type, which may take each other's places."""
_ROLES = {
    "if": "predicate",
    "key_fn": "key",
    "value_fn": "value",
    "init": "initializer",
    "merge": "merger",
}
_ROLES_OF_FN = {
    None: "predicate",  # a branch
    "filter": "predicate",
    "filter_not": "predicate",
    "map_values": "value",
    "select_key": "key",
    "group_by": "key",
    "to_stream": "key",
    "aggregate": "aggregator",
    "cogroup": "aggregator",
    "reduce": "reducer",
    "flat_map_values": "flat mapper",
    "join": "joiner",
    "left_join": "joiner",
    "outer_join": "joiner",
    "fk_join": "joiner",
    "fk_left_join": "joiner",
}
_SETTINGS = (
    ("topology.optimization", ("all", "none")),
    ("dsl.store.suppliers.class", ("in_memory", "rocksdb")),
    ("dsl.store.format", ("HEADERS",)),
    ("processing.exception.handler", ("continue", "fail")),
    ("deserialization.exception.handler", ("continue", "fail")),
)
_KINDS = {
    "join": ("left_join",),
    "left_join": ("join",),
    "outer_join": ("join", "left_join"),
    "fk_join": ("fk_left_join",),
    "fk_left_join": ("fk_join",),
    "filter": ("filter_not",),
    "filter_not": ("filter",),
}


def mutated(spec: dict, rng: random.Random) -> dict:
    """A copy with one to four changes, under a name of its own."""
    spec = copy.deepcopy(spec)
    spec["name"] += "-changed"
    for _ in range(rng.randint(1, 4)):
        rng.choice(_CHANGES)(spec, rng)
    return spec


def _parts(node: object) -> Iterator[dict]:
    """All objects inside, the outer ones first."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _parts(each)


def _places(spec: dict, fields: tuple[str, ...]) -> list[tuple[dict, str]]:
    return [(part, field) for part in _parts(spec["ops"]) for field in fields if field in part]


def _change_size(spec: dict, rng: random.Random) -> None:
    places = [(part, field) for part, field in _places(spec, _SIZES) if part[field]]
    if places:
        part, field = rng.choice(places)
        part[field] = max(1, part[field] + rng.choice([-7, -3, -1, 1, 4, 20]))


def _change_function(spec: dict, rng: random.Random) -> None:
    places = []
    for part, field in _places(spec, ("fn", *_ROLES)):
        role = _ROLES_OF_FN.get(part.get("op")) if field == "fn" else _ROLES[field]
        places += [(part, field, like) for like in _LIKE.get(role, ()) if part[field] in like]
    if places:
        part, field, like = rng.choice(places)
        part[field] = rng.choice(like)


def _change_kind(spec: dict, rng: random.Random) -> None:
    ops = [
        op
        for op in spec["ops"]
        if op["op"] in _KINDS and "key_fn" not in op and "grace" not in op.get("joined", {})
    ]
    if ops:
        op = rng.choice(ops)
        op["op"] = rng.choice(_KINDS[op["op"]])


def _change_setting(spec: dict, rng: random.Random) -> None:
    name, options = rng.choice(_SETTINGS)
    spec.setdefault("config", {})[name] = rng.choice(options)


def _change_store(spec: dict, rng: random.Random) -> None:
    options = [op["materialized"] for op in spec["ops"] if "materialized" in op]
    if not options:
        return
    made = rng.choice(options)
    change = rng.choice(["caching", "logging", "type", "store"])
    if change in {"caching", "logging"}:
        made[change] = rng.random() < 0.5 if change == "caching" else False
    elif "supplier" not in made:
        made[change] = rng.choice(["in_memory", "rocksdb"]) if change == "type" else "chosen"


def _change_buffer(spec: dict, rng: random.Random) -> None:
    """Strict ones stay strict."""
    for op in spec["ops"]:
        if op["op"] == "suppress" and op["suppressed"]["until"] == "time_limit":
            op["suppressed"]["buffer"] = rng.choice(
                [{}, {"max_records": 2}, {"max_bytes": 200}, {"max_records": 3, "max_bytes": 300}]
            )


def _change_name(spec: dict, rng: random.Random) -> None:
    """Takes one away; describes more than it does."""
    named = [
        part
        for part in _parts(spec["ops"])
        if "name" in part and "kind" not in part and part.get("op", "").partition("_")[0] != "add"
    ]
    if named and spec.get("api") != "topology":
        del rng.choice(named)["name"]


def _change_times(spec: dict, rng: random.Random) -> None:
    hints = spec.setdefault("gen", {})
    hints["disorder"] = rng.choice([0, 0.3, 0.6])
    hints["late"] = rng.choice([5, 25, 100, 400])
    hints["step"] = rng.choice([1, 5, 15])
    hints["jump"] = rng.choice([0, 0.04, 0.2])
    hints["headers"] = rng.choice([0, 0.3])


def _change_records(spec: dict, rng: random.Random) -> None:
    inputs = [topic["in"] for topic in spec["topics"].values() if "in" in topic]
    buffered = any("grace" in op.get("joined", {}) for op in spec["ops"])  # refuses null keys
    for hints in inputs:
        hints["null_value"] = rng.choice([0, 0.15, 0.4])
        if rng.random() < 0.3 and not buffered:
            hints["null_key"] = rng.choice([0, 0.1])


_CHANGES: tuple[Callable[[dict, random.Random], None], ...] = (
    _change_size,
    _change_size,
    _change_function,
    _change_function,
    _change_kind,
    _change_setting,
    _change_store,
    _change_buffer,
    _change_name,
    _change_times,
    _change_records,
)
