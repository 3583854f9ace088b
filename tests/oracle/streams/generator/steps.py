"""Calls on streams and tables that need no other flow and keep no groups."""

from __future__ import annotations

import string
from dataclasses import replace

from streams.generator import functions
from streams.generator.draft import ROWS_MAX, STREAM, TABLE, Draft, Flow, known
from streams.generator.sources import materialized, materialized_flow

# Streams.


def filter_stream(draft: Draft, flow: Flow) -> None:
    op = draft.pick("filter", "filter", "filter_not")
    fn = functions.predicate(flow.value, draft.rng)
    draft.go_on(flow, draft.add(op, flow, fn=fn, **draft.name()))


def map_stream_values(draft: Draft, flow: Flow) -> None:
    fields, value = value_mapper(draft, flow)
    op_id = draft.add("map_values", flow, **fields, **draft.name())
    draft.go_on(flow, op_id, value=value, value_serde=False)


def value_mapper(draft: Draft, flow: Flow) -> tuple[dict, str]:
    if draft.chance(0.25):
        fn, value = draft.rng.choice(functions.KEYED_MAPPERS)
        return {"fn": fn, "with_key": True}, value
    options = functions.VALUE_MAPPERS[flow.value]
    if draft.chance(0.03):
        options = functions.EDGE_MAPPERS[flow.value]
    if flow.value == "long" and draft.chance(
        0.1 if "processing.exception.handler" in draft.config else 0.005
    ):
        options = [("fail_if_negative", "long")]
    fn, value = draft.rng.choice(options)
    return {"fn": fn, "with_key": True} if draft.chance(0.1) else {"fn": fn}, value


def select_key(draft: Draft, flow: Flow) -> None:
    fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
    op_id = draft.add("select_key", flow, fn=fn, **draft.name())
    draft.go_on(flow, op_id, key=key, key_serde=False, rekeyed=True, windows=None)


def map_stream(draft: Draft, flow: Flow) -> None:
    key_fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
    value_fn, value = draft.rng.choice(functions.VALUE_MAPPERS[flow.value])
    op_id = draft.add("map", flow, key_fn=key_fn, value_fn=value_fn, **draft.name())
    draft.go_on(flow, op_id, key=key, value=value, **_UNKNOWN, windows=None)


def flat_map(draft: Draft, flow: Flow) -> None:
    each, types = [], None
    for _ in range(draft.rng.randint(1, 3)):
        key_fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
        value_fn, value = draft.rng.choice(functions.VALUE_MAPPERS[flow.value])
        if types not in {None, (key, value)}:
            continue
        types = (key, value)
        part = {"key_fn": key_fn, "value_fn": value_fn}
        if draft.chance(0.5):
            part["if"] = functions.predicate(flow.value, draft.rng)
        each.append(part)
    key, value = types
    rows = flow.rows * len(each)
    if rows > ROWS_MAX:
        return
    op_id = draft.add("flat_map", flow, each=each, **draft.name())
    draft.go_on(flow, op_id, key=key, value=value, **_UNKNOWN, windows=None, rows=rows)


_UNKNOWN = {"key_serde": False, "value_serde": False, "rekeyed": True}


def flat_map_values(draft: Draft, flow: Flow) -> None:
    rows = flow.rows * _VALUES_OF_ONE
    if rows > ROWS_MAX:
        return
    if draft.chance(0.2):
        fields, value = {"fn": "key_and_value", "with_key": True}, "string"
    else:
        fn, value = functions.flat_mapper(flow.value, draft.rng)
        fields = {"fn": fn}
    op_id = draft.add("flat_map_values", flow, **fields, **draft.name())
    draft.go_on(flow, op_id, value=value, value_serde=False, rows=rows)


_VALUES_OF_ONE = 6
"""The characters of a value, for instance."""


def look(draft: Draft, flow: Flow) -> None:
    kind = draft.rng.choices(["peek", "foreach", "print"], [4, 2, 1])[0]
    label = {"label": "l"} if kind == "print" and draft.chance(0.5) else {}
    op_id = draft.add(kind, flow, **label, **draft.name())
    if kind == "peek":
        draft.go_on(flow, op_id)


def merge(draft: Draft, flow: Flow) -> None:
    def fits(other: Flow) -> bool:
        same = (other.kind, other.key, other.value) == (flow.kind, flow.key, flow.value)
        return same and other.id != flow.id and flow.rows + other.rows <= ROWS_MAX

    other = draft.find(fits)
    if other is not None:
        op_id = draft.add("merge", flow, other=other.id, **draft.name())
        rekeyed = flow.rekeyed or other.rekeyed
        rows = flow.rows + other.rows
        draft.go_on(flow, op_id, key_serde=False, value_serde=False, rekeyed=rekeyed, rows=rows)


def split(draft: Draft, flow: Flow) -> None:
    op_id = draft.fresh("o")
    branches = [_branch(draft, flow) for _ in range(draft.rng.randint(1, 3))]
    for branch in branches:
        branch["fn"] = functions.predicate(flow.value, draft.rng)
    op = {"id": op_id, "op": "split", "from": flow.id, "branches": branches, **draft.name()}
    if draft.chance(0.6):
        op["default"] = _branch(draft, flow)
    draft.ops.append(op)


def _branch(draft: Draft, flow: Flow) -> dict:
    """A branch; with an id its stream goes on, with a chain what the chain makes of it does."""
    branch = draft.name("branch-", "as")
    if draft.chance(0.15):
        return branch
    branch["id"] = draft.fresh("o")
    inside = replace(flow, id=branch["id"], store=None)
    roll = draft.rng.random()
    if roll < 0.15:
        branch["consume"] = True
    elif roll < 0.4:
        with draft.nested() as chain:
            map_stream_values(draft, inside)
        branch.update(chain=chain, result=chain[-1]["id"])
        return branch
    draft.keep(inside)
    return branch


def repartition(draft: Draft, flow: Flow) -> None:
    """The key's serde is not inherited in Kafka Streams."""
    flow = replace(flow, key_serde=False)
    options = {**draft.serdes(flow), **draft.name("rep-")}
    if draft.chance(0.1):
        options["partitions"] = draft.pick(1, 3)
    if draft.chance(0.1):
        options["partitioner"] = "zero"
    given = {"repartitioned": options} if options else {}
    op_id = draft.add("repartition", flow, **given)
    draft.go_on(flow, op_id, rekeyed=False, **known(flow, options))


def send(draft: Draft, flow: Flow) -> None:
    options = {**draft.serdes(flow), **draft.name("sink-")}
    if draft.chance(0.05):
        options["partitioner"] = "zero"
    produced = {"produced": options} if options else {}
    if flow.value == "long" and draft.chance(0.1):
        even, odd = draft.output_topic(flow), draft.output_topic(flow)
        draft.call("to", flow, topic_fn=f"by_parity:{even},{odd}", **produced)
        return
    if flow.key == "string" and flow.rows == 1 and draft.chance(0.05):
        _send_by_key(draft, flow, produced)
        return
    topic = draft.output_topic(flow)
    draft.call("to", flow, topic=topic, **produced)


def _send_by_key(draft: Draft, flow: Flow, produced: dict) -> None:
    """To a topic for each key that is left as few as they are by the selector before it."""
    prefix = draft.fresh("to") + "-"
    few = draft.add("select_key", flow, fn="first_char" if flow.value == "string" else "mod_key:3")
    for key in ("null", "", *string.printable[:94], "m0", "m1", "m2"):
        draft.topics[f"{prefix}{key}"] = {"key": flow.key, "value": flow.value}
    draft.call("to", replace(flow, id=few), topic_fn=f"by_key:{prefix}", **produced)


def through(draft: Draft, flow: Flow) -> None:
    """A topic of the user that is written and read by the same topology."""
    if flow.is_windowed:
        return
    topic = draft.fresh("through")
    draft.topics[topic] = {"key": flow.key, "value": flow.value}
    options = draft.serdes(flow)
    draft.call("to", flow, topic=topic, **({"produced": options} if options else {}))
    fresh = Flow("", STREAM, flow.key, flow.value)
    consumed = {**draft.serdes(fresh), **draft.name("source-")}
    op = draft.pick("stream", "stream", "table")
    op_id = draft.add(op, topic=topic, **({"consumed": consumed} if consumed else {}))
    draft.go_on(fresh, op_id, kind=op, **known(fresh, consumed))


def to_table(draft: Draft, flow: Flow) -> None:
    if flow.is_windowed and not flow.key_serde:
        return
    unknown = replace(flow, key_serde=flow.is_windowed, value_serde=False)
    made = materialized(draft, unknown)
    named = draft.name()
    op_id = draft.add("to_table", flow, **named, **made)
    draft.keep(materialized_flow(replace(flow, kind=TABLE, windows=None), op_id, made))


# Tables.


def filter_table(draft: Draft, flow: Flow) -> None:
    op = draft.pick("filter", "filter", "filter_not")
    fn = functions.predicate(flow.value, draft.rng)
    _table_step(draft, flow, op, flow.value, value_serde=flow.value_serde, fn=fn)


def map_table_values(draft: Draft, flow: Flow) -> None:
    fields, value = value_mapper(draft, flow)
    _table_step(draft, flow, "map_values", value, value_serde=False, **fields)


def transform_table_values(draft: Draft, flow: Flow) -> None:
    if draft.chance(0.5):
        fn, value = draft.rng.choice(
            [*functions.KEYED_MAPPERS, *functions.VALUE_MAPPERS[flow.value]]
        )
        _table_step(
            draft, flow, "transform_values", value, value_serde=False, transformer={"type": fn}
        )
        return
    name = draft.fresh("calls-")
    store = {
        "name": name,
        "kind": "key_value",
        "impl": "in_memory",
        "key": flow.key,
        "value": "long",
    }
    draft.call("add_state_store", store=store)
    transformer = {"type": "count", "store": name}
    _table_step(
        draft,
        flow,
        "transform_values",
        "string",
        value_serde=False,
        transformer=transformer,
        stores=[name],
    )


def _table_step(
    draft: Draft, flow: Flow, op: str, value: str, *, value_serde: bool, **fields
) -> None:
    result = replace(flow, value=value, value_serde=value_serde, store=None)
    made = {}
    if not flow.is_windowed:
        made = _chosen(draft, result)
    op_id = draft.add(op, flow, **fields, **draft.name(), **made)
    made_flow = materialized_flow(result, op_id, made)
    if not made:  # a view of a versioned table is versioned too
        made_flow = replace(made_flow, versioned=flow.versioned)
    draft.keep(made_flow)


def _chosen(draft: Draft, result: Flow) -> dict:
    """Materialized for one step in four; its store inherits no serdes, though the table does."""
    unknown = replace(result, key_serde=False, value_serde=False)
    return materialized(draft, unknown, share=1) if draft.chance(0.25) else {}


def to_stream(draft: Draft, flow: Flow) -> None:
    changed = {"kind": STREAM, "windows": None, "versioned": False, "rekeyed": False}
    fields = {}
    if draft.chance(0.5 if flow.is_windowed else 0.15):
        fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
        fields = {"fn": fn}
        changed.update(key=key, key_serde=False, rekeyed=True)
    op_id = draft.add("to_stream", flow, **fields, **draft.name())
    draft.go_on(flow, op_id, **changed)


def suppress(draft: Draft, flow: Flow) -> None:
    if flow.versioned and not draft.chance(0.02):
        return
    if not draft.can_write(flow, "key", "value"):
        return
    buffer: dict = {}
    closes = flow.windows is not None and draft.chance(0.7)
    if draft.chance(0.4):
        buffer["max_records"] = draft.pick(1, 2, 4)
    elif draft.chance(0.2):
        buffer["max_bytes"] = draft.pick(100, 300)
    if "max_records" in buffer and draft.chance(0.2):
        buffer["max_bytes"] = draft.pick(100, 300, 1000)
    if buffer:
        if closes:
            if draft.chance(0.9):
                buffer = {"max_records": 1000}
            buffer["on_full"] = "shut_down"
        elif draft.chance(0.3):
            buffer["on_full"] = "emit_early"
    if draft.chance(0.2):
        buffer["logging"] = draft.pick(False, False, {"segment.ms": "1000"})
    options = (
        {"until": "window_closes"}
        if closes
        else {"until": "time_limit", "ms": draft.pick(0, 5, 20)}
    )
    op_id = draft.add("suppress", flow, suppressed={**options, "buffer": buffer, **draft.name()})
    draft.go_on(flow, op_id)
