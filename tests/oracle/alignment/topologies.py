"""Random topologies with repartitions, in the oracle's language; a seed always gives the same one.

Each goes through one to three rounds, and each round changes keys: windows of all kinds (with updates, suppressed until they close, or given out
when they close), plain aggregations, joins of streams and with tables, merged streams, and `repartition` itself. Serdes are always given.
No record leaves without a key: the partition of one is chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

STREAM_JOINS_MAX = 2
"""Each multiplies records."""
STRING, LONG = "string", "long"


@dataclass(frozen=True, slots=True)
class Flow:
    """A stream. Its key is text unless it is windowed. `has_prefix`: every value is a text with a colon, before which there is a key."""

    id: str
    key: str
    value: str
    has_prefix: bool = False

    @property
    def is_windowed(self) -> bool:
        return "windowed" in self.key


class Sketch:
    """Ops in their order, the topics, and the streams that later ops may take.

    `commutes`: what is computed does not depend on the order of records that are in time; graces are then as long as `grace_ms`.
    """

    def __init__(self, rng: random.Random, grace_ms: int | None) -> None:
        self.rng = rng
        self.ops: list[dict] = []
        self.topics: dict[str, dict] = {}
        self.flows: list[Flow] = []
        self.grace_ms = grace_ms
        self.stream_joins = 0
        self._numbers: dict[str, int] = {}

    @property
    def commutes(self) -> bool:
        return self.grace_ms is not None

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *options):
        return self.rng.choice(options)

    def fresh(self, prefix: str) -> str:
        number = self._numbers[prefix] = self._numbers.get(prefix, 0) + 1
        return f"{prefix}{number}"

    def add(self, op: str, source: str | None = None, /, **fields) -> str:
        """One op with an id of its own, which is given back."""
        made = {"id": self.fresh("o"), "op": op}
        if source is not None:
            made["from"] = source
        self.ops.append({**made, **fields})
        return made["id"]

    def keep(self, flow: Flow) -> Flow:
        self.flows.append(flow)
        return flow

    def grace(self) -> dict:
        return {"grace": self.pick(0, 0, 10, 50) if self.grace_ms is None else self.grace_ms}

    def source(self) -> Flow:
        name, value = self.fresh("in"), self.pick(STRING, STRING, LONG)
        self.topics[name] = {"key": STRING, "value": value, "in": {}}
        consumed = {"key": STRING, "value": value}
        op_id = self.add("stream", topic=name, consumed=consumed)
        return self.keep(Flow(op_id, STRING, value, has_prefix=value == STRING))

    def sink(self, flow: Flow) -> None:
        name = self.fresh("out")
        self.topics[name] = {"key": flow.key, "value": flow.value}
        serdes = {"key": flow.key, "value": flow.value}
        self.ops.append({"op": "to", "from": flow.id, "topic": name, "produced": serdes})


def random_topology(
    name: str, rng: random.Random, *, grace_ms: int | None = None, beside: bool = False
) -> dict:
    """One specification; `rng` alone decides what it is. `grace_ms`: see Sketch; `beside`: a task of it reads a repartition
    topic and one that is none.
    """
    sketch = Sketch(rng, grace_ms)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        sketch.source()
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        step = rng.choices(list(STEPS), list(STEPS.values()))[0]
        step(sketch, sketch.flows[-1] if sketch.chance(0.7) else rng.choice(sketch.flows))
        if sketch.chance(0.3):
            _pass(sketch, sketch.flows[-1])
    if beside:
        step = sketch.pick(_join_table_of_topic, _merge_with_topic, _join_stream_of_topic)
        step(sketch, sketch.flows[0] if sketch.chance(0.4) else rng.choice(sketch.flows))
        if sketch.chance(0.5):
            _aggregate_windows(sketch, sketch.flows[-1])
    used = {op.get(field) for op in sketch.ops for field in ("from", "other")}
    for flow in sketch.flows:
        if flow.id not in used or sketch.chance(0.1):
            sketch.sink(flow)
    config = {"dsl.store.suppliers.class": sketch.pick("in_memory", "in_memory", "rocksdb")}
    if sketch.chance(0.2):
        config["topology.optimization"] = "all"
    return {"name": name, "topics": sketch.topics, "ops": sketch.ops, "config": config}


# Keys.


def _key_function(sketch: Sketch, flow: Flow) -> str:
    """One that gives a key for every value."""
    if flow.is_windowed:
        return sketch.pick("inner_key", "inner_key", "key_str")
    if flow.value == LONG:
        return sketch.pick("mod_key:2", "mod_key:5", "mod_key:11", "key_append:x")
    of_prefix = ("before::",) * 3 if flow.has_prefix else ()
    return sketch.pick("first_char", "key_append:x", *of_prefix)


def _with_values(sketch: Sketch, flow: Flow) -> Flow:
    return replace(flow, id=sketch.add("filter", flow.id, fn="value_not_null"))


def _rekeyed(sketch: Sketch, flow: Flow) -> Flow:
    flow = _with_values(sketch, flow)
    op_id = sketch.add("select_key", flow.id, fn=_key_function(sketch, flow))
    return replace(flow, id=op_id, key=STRING)


def _serdes(flow: Flow) -> dict:
    return {"key": flow.key, "value": flow.value}


def _grouped(sketch: Sketch, flow: Flow) -> Flow:
    if sketch.chance(0.5):
        flow, fn = _with_values(sketch, flow), _key_function(sketch, flow)
        grouped = {"key": STRING, "value": flow.value}
        op_id = sketch.add("group_by", flow.id, fn=fn, grouped=grouped)
    else:
        flow = _rekeyed(sketch, flow)
        op_id = sketch.add("group_by_key", flow.id, grouped=_serdes(flow))
    return Flow(op_id, STRING, flow.value)


# Steps that change nothing of the keys.


def _pass(sketch: Sketch, flow: Flow) -> None:
    if flow.value == LONG:
        options = (("map_values", "plus:3"), ("map_values", "times:2"), ("filter", "value_even"))
    else:
        options = (("map_values", "append:z"), ("flat_map_values", "twice"), ("filter", "value_not_null"))  # fmt: skip
    op, fn = sketch.pick(*options)
    sketch.keep(replace(flow, id=sketch.add(op, flow.id, fn=fn)))


# Steps behind a repartition.


def _pass_on(sketch: Sketch, flow: Flow) -> None:
    flow = _rekeyed(sketch, flow)
    partitions = {"partitions": sketch.rng.randint(1, 6)} if sketch.chance(0.5) else {}
    op_id = sketch.add("repartition", flow.id, repartitioned={**_serdes(flow), **partitions})
    sketch.keep(replace(flow, id=op_id))


def _aggregate(sketch: Sketch, flow: Flow) -> None:
    _made_stream(sketch, _aggregated(sketch, _grouped(sketch, flow), merges=False))


def _aggregate_windows(sketch: Sketch, flow: Flow) -> None:
    _aggregate_grouped(sketch, _grouped(sketch, flow))


def _aggregate_grouped(sketch: Sketch, grouped: Flow) -> None:
    windows, key = _windows(sketch)
    op_id = sketch.add("windowed_by", grouped.id, windows=windows)
    result = sketch.pick("updates", "closed", "suppressed")
    if result == "closed":
        op_id = sketch.add("emit_strategy", op_id, strategy="on_window_close")
    merges = windows["type"] == "session"
    table = _aggregated(sketch, replace(grouped, id=op_id), merges=merges)
    table = replace(table, key=key)
    if result == "suppressed":
        suppressed = {"until": "window_closes", "buffer": {}}
        table = replace(table, id=sketch.add("suppress", table.id, suppressed=suppressed))
    _made_stream(sketch, table)


def _windows(sketch: Sketch) -> tuple[dict, str]:
    """Windows, and the serde of their keys."""
    kind = sketch.pick("tumbling", "tumbling", "hopping", "sliding", "session", "session")
    size = sketch.pick(20, 50, 100, 200)
    if kind == "session":
        return {"type": kind, "gap": size // 4, **sketch.grace()}, f"session_windowed:{STRING}"
    key = f"time_windowed:{STRING}:{size}"
    if kind == "sliding":
        return {"type": kind, "diff": size, **sketch.grace()}, key
    advance = {"advance": sketch.pick(size // 2, size // 4)} if kind == "hopping" else {}
    return {"type": kind, "size": size, **advance, **sketch.grace()}, key


def _aggregated(sketch: Sketch, grouped: Flow, *, merges: bool) -> Flow:
    """A table, by its id. Its key is that of the group."""
    kind = sketch.pick("count", "reduce", "aggregate")
    if kind == "reduce" and sketch.commutes and grouped.value == STRING:
        kind = "count"
    value, fields = grouped.value, {}
    if kind == "count":
        value = LONG
    elif kind == "reduce":
        fields["fn"] = _reducer(sketch, grouped.value)
    else:
        value = LONG if sketch.commutes or sketch.chance(0.4) else STRING
        function, merger = _aggregator(sketch, grouped.value, value)
        fields |= {"init": "zero" if value == LONG else "empty", "fn": function}
        fields |= {"merge": merger} if merges else {}
    made = {"key": STRING, "value": value}
    return Flow(sketch.add(kind, grouped.id, **fields, materialized=made), grouped.key, value)


def _reducer(sketch: Sketch, value: str) -> str:
    if sketch.commutes:
        return sketch.pick("sum", "max", "min")
    return sketch.pick("first", "last", *(("sum", "max") if value == LONG else ()))


def _aggregator(sketch: Sketch, value: str, result: str) -> tuple[str, str]:
    """An aggregator, and what merges two of its results."""
    if result == STRING:
        return sketch.pick(("tail:20", "concat_bar"), ("concat_minus", "concat_bar"))
    if value == STRING:
        return "count", "sum"
    options = [("count", "sum"), ("sum", "sum"), ("max", "max"), ("min", "min")]
    if not sketch.commutes:
        options += [("last", "last"), ("subtract", "sum")]
    return sketch.rng.choice(options)


def _made_stream(sketch: Sketch, table: Flow) -> None:
    sketch.keep(replace(table, id=sketch.add("to_stream", table.id)))


def _merge(sketch: Sketch, flow: Flow) -> None:
    """Two streams of one type meet in one group."""
    others = [each for each in sketch.flows if each.value == flow.value and each.id != flow.id]
    if not others:
        _aggregate_windows(sketch, flow)
        return
    left, right = _rekeyed(sketch, flow), _rekeyed(sketch, sketch.rng.choice(others))
    merged = replace(left, id=sketch.add("merge", left.id, other=right.id))
    op_id = sketch.add("group_by_key", merged.id, grouped=_serdes(merged))
    _aggregate_grouped(sketch, replace(merged, id=op_id))


def _join_streams(sketch: Sketch, flow: Flow) -> None:
    if sketch.stream_joins == STREAM_JOINS_MAX:
        _aggregate_windows(sketch, flow)
        return
    sketch.stream_joins += 1
    left, right = _rekeyed(sketch, flow), _rekeyed(sketch, sketch.rng.choice(sketch.flows))
    windows = {"diff": sketch.pick(0, 10, 40), **sketch.grace()}
    if sketch.chance(0.3):
        windows[sketch.pick("before", "after")] = sketch.pick(0, 5, 60)
    fn, value = _joiner(sketch, left, right)
    options = {**_serdes(left), "other_value": right.value}
    op = sketch.pick("join", "left_join", "outer_join")
    op_id = sketch.add(op, left.id, other=right.id, windows=windows, fn=fn, stream_joined=options)
    sketch.keep(Flow(op_id, STRING, value))


def _joiner(sketch: Sketch, left: Flow, right: Flow) -> tuple[str, str]:
    if left.value == right.value == LONG and sketch.chance(0.4):
        return "sum", LONG
    return sketch.pick("pair", "pair", "nest"), STRING


def _join_table(sketch: Sketch, flow: Flow) -> None:
    """A stream with a table of another stream, both behind repartitions."""
    if sketch.commutes:  # which version of the table a record meets is a matter of order
        _aggregate_windows(sketch, flow)
        return
    other = sketch.rng.choice(sketch.flows)
    if sketch.chance(0.5):
        table = _aggregated(sketch, _grouped(sketch, other), merges=False)
    else:
        rekeyed = _rekeyed(sketch, other)
        op_id = sketch.add("to_table", rekeyed.id, materialized=_serdes(rekeyed))
        table = replace(rekeyed, id=op_id)
    left = _rekeyed(sketch, flow)
    fn, value = _joiner(sketch, left, table)
    op = sketch.pick("join", "left_join")
    op_id = sketch.add(op, left.id, other=table.id, fn=fn, joined=_serdes(left))
    sketch.keep(Flow(op_id, STRING, value))


# Steps of tasks that read a repartition topic and a source topic.


def _repartitioned(sketch: Sketch, flow: Flow) -> Flow:
    """Where it has the keys of a source topic it keeps them."""
    flow = _rekeyed(sketch, flow) if flow.is_windowed else _with_values(sketch, flow)
    op_id = sketch.add("repartition", flow.id, repartitioned=_serdes(flow))
    return replace(flow, id=op_id)


def _join_table_of_topic(sketch: Sketch, flow: Flow) -> None:
    if sketch.commutes:  # as of all tables
        _merge_with_topic(sketch, flow)
        return
    left, name, value = _repartitioned(sketch, flow), sketch.fresh("in"), sketch.pick(STRING, LONG)
    sketch.topics[name] = {"key": STRING, "value": value, "in": {}}
    made: dict = {"key": STRING, "value": value}
    if sketch.chance(0.5):
        supplier = {
            "kind": "versioned",
            "impl": "persistent",
            "history": sketch.pick(0, 100, 10_000),
        }
        made["supplier"] = {**supplier, "name": sketch.fresh("versions")}
    consumed = {"key": STRING, "value": value}
    table = Flow(
        sketch.add("table", topic=name, consumed=consumed, materialized=made), STRING, value
    )
    fn, joined = _joiner(sketch, left, table)
    op = sketch.pick("join", "left_join")
    op_id = sketch.add(op, left.id, other=table.id, fn=fn, joined=_serdes(left))
    sketch.keep(Flow(op_id, STRING, joined))


def _merge_with_topic(sketch: Sketch, flow: Flow) -> None:
    left = _repartitioned(sketch, flow)
    right = _source_of(sketch, left.value)
    merged = replace(left, id=sketch.add("merge", left.id, other=right.id))
    op_id = sketch.add("group_by_key", merged.id, grouped=_serdes(merged))
    _aggregate_grouped(sketch, replace(merged, id=op_id))


def _join_stream_of_topic(sketch: Sketch, flow: Flow) -> None:
    left = _repartitioned(sketch, flow)
    right = _with_values(sketch, _source_of(sketch, sketch.pick(STRING, LONG)))
    windows = {"diff": sketch.pick(0, 10, 40), **sketch.grace()}
    fn, value = _joiner(sketch, left, right)
    options = {**_serdes(left), "other_value": right.value}
    op = sketch.pick("join", "left_join", "outer_join")
    op_id = sketch.add(op, left.id, other=right.id, windows=windows, fn=fn, stream_joined=options)
    sketch.keep(Flow(op_id, STRING, value))


def _source_of(sketch: Sketch, value: str) -> Flow:
    name = sketch.fresh("in")
    sketch.topics[name] = {"key": STRING, "value": value, "in": {}}
    consumed = {"key": STRING, "value": value}
    return Flow(sketch.add("stream", topic=name, consumed=consumed), STRING, value)


STEPS: dict[Callable[[Sketch, Flow], None], int] = {
    _aggregate_windows: 6,
    _aggregate: 2,
    _pass_on: 3,
    _merge: 2,
    _join_streams: 3,
    _join_table: 3,
}
