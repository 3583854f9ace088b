"""Streams and tables over input topics, and how tables are materialized."""

from __future__ import annotations

from streams.generator.draft import GLOBAL, STREAM, TABLE, Draft, Flow, known

EXTRACTORS = (
    "plus:5",
    "use_partition_time",
    "log_and_skip",
    "fail_on_invalid",
    "value",
    "value_or_partition",
)
BAD_SHARE = 0.05
"""Of values that cannot be read, and of timestamps before the epoch."""


def add_source(draft: Draft) -> None:
    rng = draft.rng
    kind = rng.choices([STREAM, TABLE, GLOBAL], [10, 7, 1])[0]
    if kind == STREAM:
        add_stream(draft)
    elif kind == TABLE:
        add_table(draft)
    else:
        add_global_table(draft)


def add_stream(draft: Draft) -> Flow:
    flow = Flow("", STREAM, _key_type(draft), _value_type(draft))
    consumed = _consumed(draft, flow)
    op_id = draft.add("stream", **_stream_topics(draft, flow), **consumed)
    flow = draft.go_on(flow, op_id, **known(flow, consumed.get("consumed", {})))
    if draft.chance(
        0.05
    ):  # a second stream of the same topics, which Kafka Streams makes one source of
        again = {**draft.ops[-1], "id": draft.fresh("o")}
        if "name" not in again.get("consumed", {}):
            draft.ops.append(again)
            draft.go_on(flow, again["id"])
    return flow


def add_table(draft: Draft) -> Flow:
    flow = Flow("", TABLE, _key_type(draft), _value_type(draft))
    topic = _topic(draft, flow)
    consumed = _consumed(draft, flow)
    flow = Flow("", TABLE, flow.key, flow.value, **known(flow, consumed.get("consumed", {})))
    made = materialized(draft, flow, share=0.6)
    op_id = draft.add("table", topic=topic, **consumed, **made)
    return draft.keep(materialized_flow(flow, op_id, made))


def add_global_table(draft: Draft) -> Flow:
    flow = Flow("", GLOBAL, "string", _value_type(draft))
    topic = _topic(draft, flow)
    consumed = _consumed(draft, flow)
    for option in ("timestamps", "reset"):
        consumed.get("consumed", {}).pop(option, None)
    flow = Flow("", GLOBAL, flow.key, flow.value, **known(flow, consumed.get("consumed", {})))
    made = materialized(draft, flow, share=0.4, may_be_versioned=False)
    named = made.get("materialized", {})
    if made and "supplier" not in named and draft.chance(0.95):
        named.setdefault("store", draft.fresh("store-"))
    op_id = draft.add("global_table", topic=topic, **consumed, **made)
    return draft.keep(materialized_flow(flow, op_id, made))


def _key_type(draft: Draft) -> str:
    if draft.chance(0.02):
        return draft.pick("integer", "bytes")
    return "long" if draft.chance(0.06) else "string"


def _value_type(draft: Draft) -> str:
    return draft.pick("string", "string", "long", draft.default_value)


def _topic(draft: Draft, flow: Flow) -> str:
    hints = {}
    if flow.value == "string":
        hints = draft.pick(
            {},
            {},
            {"values": "letters"},
            {"values": "csv"},
            {"values": "fk"},
            {"values": "fk"},
            {"values": "words"},
        )
    elif draft.chance(0.4):
        hints = {"values": "signed"}
    hints = dict(hints)
    if flow.key == "string" and draft.chance(0.2):
        hints["keys"] = draft.pick("fk", "fk", "mod3", "words", "key+fk")
    if draft.chance(0.2):
        hints["null_key"] = draft.pick(0, 0.2)
    if draft.chance(0.3):
        hints["null_value"] = draft.pick(0, 0.3)
    if draft.chance(0.2):
        hints["weight"] = draft.pick(2, 3)
    reads_on = "deserialization.exception.handler" in draft.config
    if flow.value == "long" and draft.chance(0.6 if reads_on else 0.004):
        hints["bad"] = BAD_SHARE
    if draft.chance(0.3 if "default.timestamp.extractor" in draft.config else 0.004):
        hints["negative"] = BAD_SHARE
    return draft.input_topic(flow.key, flow.value, **hints)


def _stream_topics(draft: Draft, flow: Flow) -> dict:
    roll = draft.rng.random()
    if roll < 0.88:
        return {"topic": _topic(draft, flow)}
    if roll < 0.95:
        return {"topics": [_topic(draft, flow), _topic(draft, flow)]}
    topic = _topic(draft, flow)
    return {"pattern": f"{topic[:2]}[{topic[2]}]{topic[3:]}"}


def _consumed(draft: Draft, flow: Flow) -> dict:
    options = {**draft.serdes(flow), **draft.name("source-")}
    if draft.chance(0.05):
        options["timestamps"] = draft.pick(*EXTRACTORS)
    if draft.chance(0.05):
        options["reset"] = draft.pick("earliest", "latest", "none")
    return {"consumed": options} if options or draft.chance(0.1) else {}


# Materialized.


def materialized(
    draft: Draft,
    flow: Flow,
    *,
    share: float = 0.4,
    may_be_versioned: bool = True,
    result_known: bool = False,
) -> dict:
    """The `materialized` field of a call that makes this table, or none where it needs none.

    `flow` has the table's types, and the serdes that the call would inherit.
    """
    needed = not (flow.value_serde or result_known) and flow.value != draft.default_value
    inner = flow.key.split(":")[1] if flow.is_windowed else flow.key
    needed = needed or (not flow.key_serde and inner != draft.default_key)
    if not needed and not draft.chance(share):
        return {}
    options = _serdes_of_table(draft, flow, result_known=result_known)
    if draft.chance(0.6):
        options.update(_store_of_table(draft, flow, may_be_versioned=may_be_versioned))
    if draft.chance(0.2):
        options["caching"] = draft.chance(0.6)
    if draft.chance(0.1):
        options["logging"] = draft.pick(False, {"cleanup.policy": "delete"}, {"segment.ms": "1000"})
    return {"materialized": options}


def _serdes_of_table(draft: Draft, flow: Flow, *, result_known: bool) -> dict:
    if flow.is_windowed:
        inner = Flow(
            "", TABLE, flow.key.split(":")[1], flow.value, flow.key_serde, flow.value_serde
        )
        given = draft.serdes(inner)
    else:
        given = draft.serdes(flow)
    if result_known and draft.chance(0.7):
        given.pop("value", None)
    return given


def _store_of_table(draft: Draft, flow: Flow, *, may_be_versioned: bool) -> dict:
    if not draft.chance(0.25):
        options = {"store": draft.fresh("store-")}
        if draft.chance(0.3):
            options["type"] = draft.pick("in_memory", "rocksdb")
        return options
    name = draft.fresh("store-")
    if may_be_versioned and draft.chance(0.4):
        versioned = {"kind": "versioned", "name": name, "history": draft.pick(20, 60, 200)}
        if draft.chance(0.2):
            versioned["segment"] = draft.pick(2, 10, 50)
        if flow.key != "string":
            draft.undumpable = True
        return {"supplier": versioned}
    kinds = [
        {"kind": "key_value", "impl": "in_memory", "name": name},
        {"kind": "timestamped_key_value", "impl": "persistent", "name": name},
        {"kind": "key_value", "impl": "persistent", "name": name},
        {"kind": "key_value", "impl": "lru", "max": draft.pick(1, 3, 10), "name": name},
    ]
    return {"supplier": draft.rng.choice(kinds)}


def materialized_flow(flow: Flow, op_id: str, made: dict) -> Flow:
    """The table that such a call gives."""
    options = made.get("materialized", {})
    supplier = options.get("supplier", {})
    serdes = known(flow, options)
    return Flow(
        op_id,
        flow.kind,
        flow.key,
        flow.value,
        windows=flow.windows,
        versioned=supplier.get("kind") == "versioned",
        readable=flow.readable,
        store=options.get("store") or supplier.get("name"),
        **serdes,
    )
