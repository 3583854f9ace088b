"""The fixed functions that topologies of the oracle are made of, by name (`plus:3`, `before::`).

Both sides of a comparison compute with these. Text of a value: null, decimal numbers, `hex:` for bytes,
`key@start/end` for windowed keys. Numbers are 64 bits and wrap.
"""

from __future__ import annotations

from millstream.streams import Windowed


class IllegalState(Exception):
    """What failing functions raise; Java's IllegalStateException."""


class Unsupported(Exception):
    """The specification uses something that is not built yet; the argument names the area."""


def text(value) -> str:
    if value is None:
        return "null"
    if isinstance(value, Windowed):
        return f"{text(value.key)}@{value.start_ms}/{value.end_ms}"
    if isinstance(value, bytes):
        return f"hex:{value.hex()}"
    return str(value)


def wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def split_name(name: str) -> tuple[str, str]:
    head, _, argument = name.partition(":")
    return head, argument


def _fails(*_):
    raise IllegalState("this function always fails")


def _or_null(function):
    return lambda value: None if value is None else function(value)


def predicate(name: str):
    head, arg = split_name(name)
    number = int(arg) if head in {"value_gt", "value_lt", "value_longer"} else 0
    table = {
        "true": lambda k, v: True,
        "false": lambda k, v: False,
        "key_null": lambda k, v: k is None,
        "key_not_null": lambda k, v: k is not None,
        "value_null": lambda k, v: v is None,
        "value_not_null": lambda k, v: v is not None,
        "key_is": lambda k, v: text(k) == arg,
        "key_lt": lambda k, v: k is not None and text(k) < arg,
        "value_even": lambda k, v: v is not None and v % 2 == 0,
        "value_gt": lambda k, v: v is not None and v > number,
        "value_lt": lambda k, v: v is not None and v < number,
        "value_has": lambda k, v: v is not None and arg in text(v),
        "value_longer": lambda k, v: v is not None and len(text(v)) > number,
        "value_fails": _fails,
    }
    return table[head]


def _before(value, separator: str):
    head, found, _ = text(value).partition(separator)
    return head if found else None


def _after(value, separator: str):
    _, found, tail = text(value).partition(separator)
    return tail if found else None


def _fail_if_negative(value):
    if value is not None and value < 0:
        raise IllegalState("negative value")
    return value


def value_mapper(name: str):
    head, arg = split_name(name)
    if head in {"identity", "null", "const", "long", "show", "fail_if_negative"}:
        return {
            "identity": lambda v: v,
            "null": lambda v: None,
            "const": lambda v: arg,
            "long": lambda v: int(arg),
            "show": text,
            "fail_if_negative": _fail_if_negative,
        }[head]
    table = {
        "to_str": text,
        "to_long": int,
        "to_int": int,
        "to_bytes": lambda v: text(v).encode(),
        "upper": lambda v: text(v).upper(),
        "append": lambda v: text(v) + arg,
        "length": lambda v: len(text(v)),
        "before": lambda v: _before(v, arg),
        "after": lambda v: _after(v, arg),
        "plus": lambda v: wrap(v + int(arg)),
        "times": lambda v: wrap(v * int(arg)),
        "mod": lambda v: v % int(arg),
        "mod_key": lambda v: f"m{v % int(arg)}",
        "null_if_even": lambda v: None if v % 2 == 0 else v,
        "null_if_has": lambda v: None if arg in text(v) else v,
    }
    return _or_null(table[head])


def keyed_value_mapper(name: str):
    table = {
        "key_eq_value": lambda k, v: f"{text(k)}={text(v)}",
        "key_eq_value_or_null": lambda k, v: None if v is None else f"{text(k)}={text(v)}",
        "key_if_null": lambda k, v: text(k) if v is None else v,
    }
    if name in table:
        return table[name]
    plain = value_mapper(name)
    return lambda k, v: plain(v)


def _key_plus_before(key, value, separator: str):
    part = None if value is None else _before(value, separator)
    return None if part is None else text(key) + part


def key_selector(name: str):
    head, arg = split_name(name)
    plain = {
        "key": lambda k, v: k,
        "null": lambda k, v: None,
        "const": lambda k, v: arg,
        "value": lambda k, v: v,
        "key_or_null_if_even": lambda k, v: None if v is not None and v % 2 == 0 else k,
        "key_plus_before": lambda k, v: _key_plus_before(k, v, arg),
    }
    if head in plain:
        return plain[head]
    by_key = {
        "key_str": text,
        "key_upper": lambda k: text(k).upper(),
        "key_append": lambda k: text(k) + arg,
        "key_length": lambda k: len(text(k)),
        "key_before": lambda k: _before(k, arg),
        "inner_key": lambda k: k.key,
        "window_start": lambda k: k.start_ms,
    }
    if head in by_key:
        of_key = _or_null(by_key[head])
        return lambda k, v: of_key(k)
    by_value = {
        "value_str": text,
        "first_char": lambda v: text(v)[:1],
        "before": lambda v: _before(v, arg),
        "after": lambda v: _after(v, arg),
        "mod_key": lambda v: f"m{v % int(arg)}",
        "mod_long": lambda v: v % int(arg),
    }
    of_value = _or_null(by_value[head])
    return lambda k, v: of_value(v)


def flat_mapper(name: str):
    head, arg = split_name(name)
    table = {
        "chars": lambda v: [] if v is None else list(text(v)),
        "split": lambda v: [] if v is None else text(v).split(arg),
        "repeat_mod": lambda v: [] if v is None else [v] * (v % int(arg)),
        "twice": lambda v: [v, v],
        "null_and_value": lambda v: [None, v],
        "none": lambda v: [],
    }
    return table[head]


def keyed_flat_mapper(name: str):
    if name == "key_and_value":
        return lambda k, v: [text(k), text(v)]
    plain = flat_mapper(name)
    return lambda k, v: plain(v)


def initializer(name: str):
    head, arg = split_name(name)
    value = {"zero": 0, "empty": "", "null": None, "const": arg}.get(head)
    if head == "long":
        value = int(arg)
    return lambda: value


def _present(operation, a, b):
    if b is None:
        return a
    return b if a is None else operation(a, b)


def _sum(a, b):
    return _present(lambda x, y: wrap(x + y), a, b)


def _sum_reset(a, b, limit: int):
    total = _sum(a, b)
    return None if total is not None and total >= limit else total


def _minus(a, b):
    return a if b is None else wrap((a or 0) - b)


def _as_text(value) -> str:
    return "" if value is None else text(value)


def aggregator(name: str):
    head, arg = split_name(name)
    table = {
        "count": lambda k, v, a: wrap((a or 0) + 1),
        "count_down": lambda k, v, a: wrap((a or 0) - 1),
        "sum": lambda k, v, a: _sum(a, v),
        "max": lambda k, v, a: _present(max, a, v),
        "min": lambda k, v, a: _present(min, a, v),
        "subtract": lambda k, v, a: _minus(a, v),
        "concat": lambda k, v, a: _as_text(a) + text(v),
        "concat_minus": lambda k, v, a: f"{_as_text(a)}-{text(v)}",
        "concat_key": lambda k, v, a: f"{_as_text(a)}{text(k)}:{text(v)};",
        "concat_or_null": lambda k, v, a: None if v is None else _as_text(a) + text(v),
        "remove": lambda k, v, a: _as_text(a).replace(text(v), "", 1),
        "first": lambda k, v, a: v if a is None else a,
        "last": lambda k, v, a: v,
        "sum_reset": lambda k, v, a: _sum_reset(a, v, int(arg)),
        "tail": lambda k, v, a: (_as_text(a) + text(v))[-int(arg) :],
    }
    return table[head]


def reducer(name: str):
    head, arg = split_name(name)
    table = {
        "sum": _sum,
        "max": lambda a, b: _present(max, a, b),
        "min": lambda a, b: _present(min, a, b),
        "sum_reset": lambda a, b: _sum_reset(a, b, int(arg)),
        "subtract": _minus,
        "concat": lambda a, b: text(a) + text(b),
        "remove": lambda a, b: text(a).replace(text(b), "", 1),
        "first": lambda a, b: a,
        "last": lambda a, b: b,
        "null": lambda a, b: None,
    }
    return table[head]


def merger(name: str):
    table = {
        "sum": lambda k, a, b: _sum(a, b),
        "max": lambda k, a, b: _present(max, a, b),
        "min": lambda k, a, b: _present(min, a, b),
        "last": lambda k, a, b: b,
        "concat": lambda k, a, b: (a or "") + (b or ""),
        "concat_bar": lambda k, a, b: f"{a or ''}|{b or ''}",
    }
    return table[name]


def joiner(name: str):
    table = {
        "pair": lambda x, y: f"{text(x)}|{text(y)}",
        "nest": lambda x, y: f"({text(x)},{text(y)})",
        "sum": lambda x, y: wrap((x or 0) + (y or 0)),
        "diff": lambda x, y: wrap((x or 0) - (y or 0)),
        "left": lambda x, y: x,
        "right": lambda x, y: y,
        "coalesce": lambda x, y: y if x is None else x,
        "null_if_equal": lambda x, y: None if text(x) == text(y) else f"{text(x)}|{text(y)}",
        "null_if_even_left": lambda x, y: (
            None if x is not None and x % 2 == 0 else f"{text(x)}|{text(y)}"
        ),
    }
    return table[name]


def keyed_joiner(name: str):
    if name == "key_pair":
        return lambda k, x, y: f"{text(k)}:{text(x)}|{text(y)}"
    plain = joiner(name)
    return lambda k, x, y: plain(x, y)


def timestamps(name: str):
    from millstream.streams import timestamps as extractors

    head, arg = split_name(name)
    if head in {"fail_on_invalid", "log_and_skip", "use_partition_time"}:
        return getattr(extractors, head)
    table = {
        "value": lambda r, p: r.value if isinstance(r.value, int) else -1,
        "value_or_partition": lambda r, p: (
            r.value if isinstance(r.value, int) and r.value >= 0 else p
        ),
        "plus": lambda r, p: r.timestamp + int(arg),
    }
    return table[head]


class TopicByName:
    """A topic extractor that shows its name in descriptions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._head, self._arg = split_name(name)

    def __call__(self, key, value, context) -> str:
        if self._head == "by_key":
            return self._arg + text(key)
        if self._head == "by_source":
            return self._arg + text(context.topic)
        even, odd = self._arg.split(",")
        return even if value is not None and value % 2 == 0 else odd

    def __str__(self) -> str:
        return self.name


def zero_partition(_topic, _key, _value, _partitions) -> int:
    return 0
