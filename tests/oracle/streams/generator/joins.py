"""Joins of all kinds between the flows that are there."""

from __future__ import annotations

from dataclasses import replace

from streams.generator import functions
from streams.generator.draft import GLOBAL, ROWS_MAX, STREAM, TABLE, Draft, Flow
from streams.generator.sources import add_global_table, add_table, materialized, materialized_flow

_PARTNERS = 8
"""About how many records one meets in a window."""


def join_streams(draft: Draft, flow: Flow) -> None:
    def fits(each: Flow) -> bool:
        few = flow.rows * each.rows * _PARTNERS <= ROWS_MAX
        return each.kind == STREAM and each.key == flow.key and few

    other = draft.find(fits)
    if other is None or flow.is_windowed:
        return
    op = draft.pick("join", "join", "left_join", "outer_join")
    windows = _join_windows(draft)
    fields, value = _joiner(draft, flow, other)
    joined = _stream_joined(draft, flow, other, windows)
    op_id = draft.add(op, flow, other=other.id, windows=windows, **fields, **joined)
    key_serde = "key" in joined.get("stream_joined", {})
    rows = flow.rows * other.rows * _PARTNERS
    draft.go_on(
        flow, op_id, value=value, key_serde=key_serde, value_serde=False, rekeyed=False, rows=rows
    )


def _joiner(draft: Draft, left: Flow, right: Flow) -> tuple[dict, str]:
    if draft.chance(0.2):
        return {"fn": "key_pair", "with_key": True}, "string"
    fn, value = functions.joiner(left.value, right.value, draft.rng)
    return {"fn": fn, **({"with_key": True} if draft.chance(0.1) else {})}, value


def _join_windows(draft: Draft) -> dict:
    windows = {"diff": draft.pick(0, 5, 12)}
    if draft.chance(0.6):
        windows["grace"] = draft.pick(0, 4, 20)
    negative = -2 if windows["diff"] else 0  # the interval must not be negative on the way either
    if draft.chance(0.2):
        windows["before"] = draft.pick(negative, 0, 3, 15)
    if draft.chance(0.2):
        windows["after"] = draft.pick(-2, 0, 3, 15)
    if _size(windows) == 0:
        draft.undumpable = True
    return windows


def _size(windows: dict) -> int:
    return windows.get("before", windows["diff"]) + windows.get("after", windows["diff"])


def _stream_joined(draft: Draft, flow: Flow, other: Flow, windows: dict) -> dict:
    options = draft.serdes(flow)
    default = draft.default_value
    # The join's stores take serdes from here only.
    options |= {"key": flow.key} if flow.key != draft.default_key else {}
    options |= {"value": flow.value} if flow.value != default else {}
    if other.value != default or draft.chance(0.4):
        options["other_value"] = other.value
    options |= draft.name("join-") | draft.name("join-store-", "store_name")
    if draft.chance(0.15):
        options["type"] = draft.pick("in_memory", "rocksdb")
    if draft.chance(0.1):
        options["logging"] = draft.pick(False, {"segment.ms": "1000"})
    if draft.chance(0.12):
        options["this_supplier"] = _join_store(draft, windows)
        if draft.chance(0.8):
            options["other_supplier"] = _join_store(draft, windows)
    return {"stream_joined": options} if options else {}


def _join_store(draft: Draft, windows: dict) -> dict:
    size = max(0, _size(windows))
    return {
        "kind": "window",
        "impl": draft.pick("in_memory", "persistent"),
        "name": draft.fresh("window-"),
        "retention": size + windows.get("grace", 0),
        "window_size": size,
        "duplicates": True,
    }


def join_stream_with_table(draft: Draft, flow: Flow) -> None:
    other = draft.find(lambda each: _is_table(each) and each.key == flow.key)
    if other is None:
        if flow.key != "string":
            return
        other = add_table(draft)
        if other.key != flow.key:
            return
    buffered = other.versioned and other.store is not None and draft.chance(0.4)
    if buffered:  # the buffer refuses null keys
        flow = replace(flow, id=draft.add("filter", flow, fn="key_not_null"))
    fields, value = _joiner(draft, flow, other)
    options = {**draft.serdes(flow), **draft.name("join-")}
    if draft.chance(0.2):
        options["other_value"] = other.value
    if buffered:
        options["grace"] = draft.pick(0, 5, 15)
    joined = {"joined": options} if options else {}
    op_id = draft.add(draft.pick("join", "left_join"), flow, other=other.id, **fields, **joined)
    key_serde = flow.key_serde or "key" in options
    draft.go_on(flow, op_id, value=value, key_serde=key_serde, value_serde=False, rekeyed=False)


def join_with_global(draft: Draft, flow: Flow) -> None:
    other = draft.find(lambda each: each.kind == GLOBAL) or add_global_table(draft)
    key_fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
    if key != other.key:
        return
    fields, value = _joiner(draft, flow, other)
    op = draft.pick("join", "left_join")
    op_id = draft.add(op, flow, other=other.id, key_fn=key_fn, **fields, **draft.name())
    draft.go_on(flow, op_id, value=value, value_serde=False)


def _is_table(flow: Flow) -> bool:
    return flow.kind == TABLE and flow.readable


def join_tables(draft: Draft, flow: Flow) -> None:
    other = draft.find(lambda each: _is_table(each) and each.key == flow.key)
    if other is None or not flow.readable:
        return
    op = draft.pick("join", "left_join", "outer_join")
    fn, value = functions.joiner(flow.value, other.value, draft.rng)
    result = replace(
        flow, value=value, value_serde=False, versioned=False, store=None, windows=None
    )
    made = {}
    if not flow.is_windowed and draft.chance(0.35):
        made = materialized(draft, replace(result, key_serde=False), share=1)
    op_id = draft.add(op, flow, other=other.id, fn=fn, **draft.name(), **made)
    draft.keep(materialized_flow(result, op_id, made))


def join_on_foreign_key(draft: Draft, flow: Flow) -> None:
    other = draft.find(lambda each: _is_table(each) and not each.is_windowed)
    if other is None or not flow.readable:
        return
    if not (draft.can_write(flow, "key", "value") and draft.can_write(other, "key")):
        return
    fields, key = _foreign_key(draft, flow)
    if key != other.key:
        return
    fn, value = functions.joiner(flow.value, other.value, draft.rng)
    joined = {**draft.name("fk-")}
    if draft.chance(0.15):
        joined["partitioner"] = "zero"
    options = {"table_joined": joined} if joined or draft.chance(0.1) else {}
    result = replace(
        flow, value=value, value_serde=False, versioned=False, store=None, windows=None
    )
    made = {}
    if flow.is_windowed and not draft.can_write(result, "value"):
        return
    if not flow.is_windowed and (not draft.can_write(result, "value") or draft.chance(0.35)):
        unknown = replace(result, key_serde=False)
        made = materialized(draft, unknown, share=1, may_be_versioned=False)
    op = draft.pick("fk_join", "fk_left_join")
    op_id = draft.add(op, flow, other=other.id, fn=fn, **fields, **options, **made)
    draft.keep(materialized_flow(result, op_id, made))


def _foreign_key(draft: Draft, flow: Flow) -> tuple[dict, str]:
    if draft.chance(0.6):
        fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
        return {"fk_with_key": fn}, key
    fn, key = draft.rng.choice(functions.VALUE_MAPPERS[flow.value])
    return {"fk": fn}, key
