"""Groups of streams and tables, their windows, and what is computed of them."""

from __future__ import annotations

from dataclasses import replace

from streams.generator import functions
from streams.generator.draft import STREAM, TABLE, Draft, Flow, known
from streams.generator.sources import materialized, materialized_flow

UNLIMITED_SIZE = 9223372036854775807


def aggregate_stream(draft: Draft, flow: Flow) -> None:
    grouped = _group(draft, flow)
    for _ in range(2 if draft.chance(0.08) else 1):
        if draft.chance(0.15):
            _cogroup(draft, grouped)
        elif draft.chance(0.6):
            _aggregate_windows(draft, grouped)
        else:
            _aggregate(draft, grouped, replace(grouped, kind=TABLE))


def _group(draft: Draft, flow: Flow) -> Flow:
    """The flow's types are those of the group; its id that of the grouped stream."""
    if draft.chance(0.6) and not (flow.is_windowed and draft.chance(0.7)):
        options = _grouped(draft, flow)
        op_id = draft.add("group_by_key", flow, **options)
        return replace(flow, id=op_id, windows=None, **_known_to_group(flow, options))
    fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
    flow = replace(flow, key=key, key_serde=False, windows=None)
    options = _grouped(draft, flow)
    op_id = draft.add("group_by", flow, fn=fn, **options)
    return replace(flow, id=op_id, **_known_to_group(flow, options))


def _known_to_group(flow: Flow, options: dict) -> dict:
    if "grouped" in options:
        flow = replace(flow, key_serde=False, value_serde=False)
    return known(flow, options.get("grouped", {}))


def _grouped(draft: Draft, flow: Flow) -> dict:
    """Nothing is inherited where anything is given."""
    if draft.can_write(flow, "key", "value") and draft.chance(0.4):
        return {}
    unknown = replace(flow, key_serde=False, value_serde=False)
    return {"grouped": {**draft.serdes(unknown), **draft.name("group-")}}


def _aggregate(draft: Draft, grouped: Flow, table: Flow, *, merges: bool = False) -> None:
    """count, reduce or aggregate of a group into a table with the keys of `table`."""
    kind = draft.pick("count", "count", "reduce", "aggregate", "aggregate")
    windowed = table.windows is not None
    if kind == "count":
        result = replace(table, value="long", value_serde=True)
        fields = {}
    elif kind == "reduce":
        result = table
        fields = {"fn": functions.reducer(grouped.value, draft.rng)}
    else:
        result, fields = _aggregate_fields(draft, grouped, table)
        if merges:
            fields["merge"] = functions.merger(result.value, draft.rng)
    made = _made(draft, result, result_known=kind == "count")
    if kind == "reduce" and "value" in made.get("materialized", {}):
        made["materialized"]["value"] = result.value
    named = draft.name() if kind == "count" or windowed or made else {}
    op_id = draft.add(kind, grouped, **fields, **named, **made)
    draft.keep(materialized_flow(result, op_id, made))


def _aggregate_fields(draft: Draft, grouped: Flow, table: Flow) -> tuple[Flow, dict]:
    value = draft.pick("string", "long")
    fields = {
        "init": functions.initializer(value, draft.rng),
        "fn": functions.aggregator(grouped.value, value, draft.rng),
    }
    return replace(table, value=value, value_serde=False), fields


# Windows.


def _aggregate_windows(draft: Draft, grouped: Flow) -> None:
    if grouped.is_windowed:
        return
    windows, size, key = random_windows(draft, grouped.key)
    op_id = draft.add("windowed_by", grouped, windows=windows)
    grouped = replace(grouped, id=op_id)
    if draft.chance(0.2) and (windows["type"] != "unlimited" or draft.chance(0.1)):
        strategy = draft.pick("on_window_close", "on_window_close", "on_window_update")
        grouped = replace(grouped, id=draft.add("emit_strategy", grouped, strategy=strategy))
        windows = {**windows, "closes": strategy == "on_window_close"}
    table = replace(grouped, kind=TABLE, key=key, windows={**windows, "length": size})
    _aggregate(draft, grouped, table, merges=windows["type"] == "session")


def random_windows(draft: Draft, key: str) -> tuple[dict, int, str]:
    """Windows, the size their store counts with, and the type of the windowed key."""
    kind = draft.pick(
        "tumbling", "tumbling", "hopping", "sliding", "session", "session", "unlimited"
    )
    grace = {"grace": draft.pick(0, 5, 20, 50)} if draft.chance(0.7) else {}
    if kind in {"tumbling", "hopping"}:
        size = draft.pick(5, 10, 25)
        advance = (
            {"advance": draft.pick(1 + size // 4, size // 2, size)} if kind == "hopping" else {}
        )
        return {"type": kind, "size": size, **advance, **grace}, size, f"time_windowed:{key}:{size}"
    if kind == "sliding":
        diff = draft.pick(1, 4, 10)
        return {"type": kind, "diff": diff, **grace}, diff, f"time_windowed:{key}:{diff}"
    if kind == "session":
        gap = draft.pick(0, 3, 10)
        return {"type": kind, "gap": gap, **grace}, gap, f"session_windowed:{key}"
    start = {"start": draft.pick(0, 20)} if draft.chance(0.6) else {}
    return {"type": kind, **start}, UNLIMITED_SIZE, f"time_windowed:{key}:{UNLIMITED_SIZE}"


def _made(draft: Draft, result: Flow, *, result_known: bool) -> dict:
    made = materialized(draft, result, result_known=result_known)
    options, windows = made.get("materialized"), result.windows
    if windows is None or options is None:
        return made
    options.pop("supplier", None)
    if windows["type"] == "unlimited":
        return made
    needed = _least_retention(windows)
    if draft.chance(0.3):
        options["retention"] = needed + draft.pick(0, 10, 100)
    if "store" not in options and draft.chance(0.2):
        options["supplier"] = _window_supplier(draft, windows, needed + draft.pick(0, 10, 100))
        options.pop("retention", None)
    return made


def _least_retention(windows: dict) -> int:
    size = windows["length"] * (2 if windows["type"] == "sliding" else 1)
    return size + windows.get("grace", 0)


def _window_supplier(draft: Draft, windows: dict, retention: int) -> dict:
    impl, name = draft.pick("in_memory", "persistent"), draft.fresh("store-")
    if windows["type"] == "session":
        if windows.get(
            "closes"
        ):  # Kafka Streams' store on disk cannot be asked for closed sessions
            impl = "in_memory"
        return {"kind": "session", "impl": impl, "name": name, "retention": retention}
    kind = "window"
    if impl == "persistent" and draft.chance(0.8):
        kind = "timestamped_window"
    size = windows["length"]
    return {
        "kind": kind,
        "impl": impl,
        "name": name,
        "retention": max(retention, size),
        "window_size": size,
    }


# Cogroup.


def _cogroup(draft: Draft, grouped: Flow) -> None:
    if grouped.is_windowed:
        return
    value = draft.pick("string", "long")
    fn = functions.aggregator(grouped.value, value, draft.rng)
    op_id = draft.add("cogroup", grouped, fn=fn)
    for _ in range(draft.rng.randint(0, 2)):
        other = draft.find(lambda flow: flow.kind == STREAM and not flow.is_windowed)
        if other is None:
            break
        other = _regrouped(draft, other, grouped.key)
        if other is None:
            continue
        fn = functions.aggregator(other.value, value, draft.rng)
        source = replace(grouped, id=op_id)
        op_id = draft.add("cogroup", source, other=other.id, fn=fn)
    cogrouped = replace(grouped, id=op_id, value=value, key_serde=False, value_serde=False)
    init = functions.initializer(value, draft.rng)
    windowed = draft.chance(0.5)
    table, fields = replace(cogrouped, kind=TABLE), {"init": init}
    if windowed:
        windows, size, key = random_windows(draft, cogrouped.key)
        op_id = draft.add("windowed_by", cogrouped, windows=windows)
        cogrouped = replace(cogrouped, id=op_id)
        table = replace(table, key=key, windows={**windows, "length": size}, readable=False)
        if windows["type"] == "session":
            fields["merge"] = functions.merger(value, draft.rng)
    made = _made(draft, table, result_known=False)
    op_id = draft.add("aggregate", cogrouped, **fields, **draft.name(), **made)
    draft.keep(materialized_flow(table, op_id, made))


def _regrouped(draft: Draft, flow: Flow, key: str) -> Flow | None:
    if flow.key == key and draft.chance(0.7):
        options = _grouped(draft, flow)
        op_id = draft.add("group_by_key", flow, **options)
        return replace(flow, id=op_id)
    fn, new_key = functions.key_selector(flow.key, flow.value, draft.rng)
    if new_key != key:
        return None
    flow = replace(flow, key=key, key_serde=False)
    return replace(flow, id=draft.add("group_by", flow, fn=fn, **_grouped(draft, flow)))


# Tables.


def aggregate_table(draft: Draft, flow: Flow) -> None:
    key_fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
    mappers = [each for each in functions.VALUE_MAPPERS[flow.value] if each[0] != "null"]
    value_fn, value = draft.rng.choice(mappers)
    flow = replace(flow, key=key, value=value, key_serde=False, value_serde=False, windows=None)
    options = _grouped(draft, flow)
    op_id = draft.add("group_by", flow, key_fn=key_fn, value_fn=value_fn, **options)
    table = replace(
        flow, id=op_id, versioned=False, store=None, **known(flow, options.get("grouped", {}))
    )
    kind = draft.pick("count", "reduce", "aggregate")
    if kind == "count":
        result, fields = replace(table, value="long", value_serde=True), {}
    elif kind == "reduce":
        result = table
        pairs = (
            [("sum", "subtract")] if value == "long" else [("concat", "remove"), ("last", "first")]
        )
        add, sub = draft.rng.choice(pairs)
        fields = {"add": add, "sub": sub}
    else:
        result, fields = _table_aggregate(draft, table)
    made = _made(draft, result, result_known=kind == "count")
    named = draft.name() if kind != "reduce" or made else {}
    op_id = draft.add(kind, table, **fields, **named, **made)
    draft.keep(materialized_flow(result, op_id, made))


def _table_aggregate(draft: Draft, table: Flow) -> tuple[Flow, dict]:
    result = draft.pick("string", "long")
    if result == "string":
        add, sub = draft.pick(
            ("concat", "remove"), ("concat", "concat_minus"), ("concat_key", "concat_minus")
        )
    elif table.value == "long":
        add, sub = draft.pick(("sum", "subtract"), ("count", "count_down"))
    else:
        add, sub = "count", "count_down"
    fields = {"init": functions.initializer(result, draft.rng), "add": add, "sub": sub}
    return replace(table, value=result, value_serde=False), fields
