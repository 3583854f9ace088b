"""Which of the fixed functions fit which types, and what they make of them."""

from __future__ import annotations

import random

_ANY_PREDICATES = ("true", "key_not_null", "key_null", "key_is:a", "key_lt:c", "false")
_PREDICATES = {
    "string": ("value_has:a", "value_has:b", "value_longer:1", "value_longer:2"),
    "long": ("value_even", "value_gt:4", "value_lt:6", "value_gt:-1"),
}
_NULL_PREDICATES = ("value_null", "value_not_null")

VALUE_MAPPERS: dict[str, list[tuple[str, str]]] = {
    "string": [
        ("upper", "string"),
        ("append:x", "string"),
        ("identity", "string"),
        ("before::", "string"),
        ("after:a", "string"),
        ("null_if_has:a", "string"),
        ("null_if_has:b", "string"),
        ("length", "long"),
        ("length", "long"),
        ("show", "string"),
        ("const:k", "string"),
        ("null", "string"),
    ],
    "long": [
        ("plus:3", "long"),
        ("times:-2", "long"),
        ("mod:4", "long"),
        ("null_if_even", "long"),
        ("identity", "long"),
        ("long:7", "long"),
        ("to_str", "string"),
        ("show", "string"),
        ("mod_key:3", "string"),
        ("append:y", "string"),
    ],
}
EDGE_MAPPERS = {"string": [("to_bytes", "bytes")], "long": [("to_int", "integer")]}
"""To types that no function goes on with."""
KEYED_MAPPERS: list[tuple[str, str]] = [
    ("key_eq_value", "string"),
    ("key_eq_value_or_null", "string"),
]
_PLAIN_KEYS = {
    "string": [("key_upper", "string"), ("key_append:1", "string"), ("key_length", "long")],
    "long": [("key_str", "string")],
    "integer": [("key_str", "string")],
    "bytes": [("key_str", "string"), ("key_length", "long")],
}
_KEYS_OF_VALUES = {
    "string": [
        ("first_char", "string"),
        ("first_char", "string"),
        ("before::", "string"),
        ("value_str", "string"),
        ("value", "string"),
        ("key_plus_before::", "string"),
    ],
    "long": [
        ("mod_key:3", "string"),
        ("mod_key:2", "string"),
        ("mod_long:3", "long"),
        ("value_str", "string"),
        ("value", "long"),
    ],
}


def predicate(value: str, rng: random.Random) -> str:
    options = [*_PREDICATES[value], *_PREDICATES[value], *_NULL_PREDICATES, *_ANY_PREDICATES]
    return rng.choice(options)


def key_selector(key: str, value: str, rng: random.Random) -> tuple[str, str]:
    """A key selector and the type of its result."""
    if "windowed" in key:
        inner = key.split(":")[1]
        return rng.choice(
            [("inner_key", inner)] * 3 + [("key_str", "string"), ("window_start", "long")]
        )
    options = [
        *_KEYS_OF_VALUES.get(value, []) * 2,
        *_PLAIN_KEYS[key],
        ("key", key),
        ("const:z", "string"),
    ]
    if value == "long":
        options.append(("key_or_null_if_even", key))
    return rng.choice(options)


def flat_mapper(value: str, rng: random.Random) -> tuple[str, str]:
    options = [("twice", value), ("null_and_value", value), ("none", value)]
    if value == "string":
        options += [("chars", "string"), ("chars", "string"), ("split:a", "string")]
    else:
        options += [("repeat_mod:3", "long"), ("repeat_mod:2", "long")]
    return rng.choice(options)


def joiner(left: str, right: str, rng: random.Random, *, windowed: bool = False) -> tuple[str, str]:
    options = [
        ("pair", "string"),
        ("pair", "string"),
        ("nest", "string"),
        ("null_if_equal", "string"),
    ]
    options += [("left", left), ("right", right)]
    if left == right:
        options.append(("coalesce", left))
    if left == right == "long":
        options += [("sum", "long"), ("diff", "long")]
    if left == "long":
        options.append(("null_if_even_left", "string"))
    if windowed:
        return rng.choice(options[:3])
    return rng.choice(options)


def reducer(value: str, rng: random.Random) -> str:
    shared = ["first", "last", "last"]
    numeric = ["sum", "sum", "max", "min", "sum_reset:15", "subtract"]
    own = ["concat", "concat", "concat"] if value == "string" else numeric
    return rng.choice([*shared, *own, "null"] if rng.random() < 0.1 else [*shared, *own])


def aggregator(value: str, result: str, rng: random.Random) -> str:
    """An aggregator of values to a result of the given type."""
    if result == "string":
        return rng.choice(
            ["concat", "concat_minus", "concat_key", "concat_or_null", "tail:5", "remove"]
        )
    if value == "long":
        return rng.choice(
            ["count", "sum", "max", "min", "subtract", "sum_reset:15", "last", "first"]
        )
    return rng.choice(["count", "count", "count_down"])


def initializer(result: str, rng: random.Random) -> str:
    if result == "string":
        return rng.choice(["empty", "empty", "null", "const:i"])
    return rng.choice(["zero", "zero", "null", "long:5"])


def merger(result: str, rng: random.Random) -> str:
    return rng.choice(
        ["concat", "concat_bar", "last"] if result == "string" else ["sum", "max", "min", "last"]
    )
