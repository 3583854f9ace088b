"""Processors with their stores, in the DSL and as topologies of the Processor API."""

from __future__ import annotations

from streams.generator import functions
from streams.generator.draft import STREAM, TABLE, Draft, Flow

SHOWS = ("show_headers", "show_metadata", "show_times")


def process(draft: Draft, flow: Flow) -> None:
    """process or process_values with one of the fixed processors."""
    op = draft.pick("process", "process_values")
    step = random_step(draft, flow, full=op == "process")
    if step is None:
        return
    options, value, key, store = step
    stores = _stores(draft, options, store)
    if "store" in options and store is None and options["store"] not in draft.global_stores:
        stores = {"stores": [options["store"]]}
    op_id = draft.add(op, flow, processor=options, **stores, **draft.name("step-"))
    changed = {"value": value, "value_serde": False}
    if op == "process":
        changed |= {"key": key, "key_serde": False, "rekeyed": True}
    draft.go_on(flow, op_id, **changed)


def _stores(draft: Draft, options: dict, store: dict | None) -> dict:
    """How the processor gets its store: it brings it, or it was added to the builder."""
    if store is None:
        return {}
    if draft.chance(0.3):
        options["provides"] = [store]
        return {}
    draft.call("add_state_store", store=store)
    return {"stores": [store["name"]]}


def random_step(
    draft: Draft, flow: Flow, *, full: bool
) -> tuple[dict, str, str, dict | None] | None:
    """A processor, the types of value and key that it forwards, and its new store if it has one.

    `full`: it may change keys and punctuate.
    """
    roll = draft.rng.random()
    if roll < 0.3:
        return _plain_step(draft, flow, full=full)
    if flow.key != "string":
        return None
    if roll < 0.5:
        return _looking_step(draft, flow)
    if roll < 0.65 and full:
        return _punctuating_step(draft, flow)
    if roll < 0.85:
        return _key_value_step(draft, flow)
    return _timed_step(draft, flow)


def _plain_step(draft: Draft, flow: Flow, *, full: bool) -> tuple[dict, str, str, None]:
    if full and draft.chance(0.3):
        key_fn, key = functions.key_selector(flow.key, flow.value, draft.rng)
        value_fn, value = draft.rng.choice(functions.VALUE_MAPPERS[flow.value])
        return {"type": "map", "key_fn": key_fn, "value_fn": value_fn}, value, key, None
    kind = draft.pick("pass", "twice", "add_header", "shift_ts", "drop", *SHOWS)
    options = {"type": kind}
    if kind == "add_header":
        options["header"] = draft.pick("was", "is")
    if kind == "shift_ts":
        options["by"] = draft.pick(-8, 5, 30)
    return options, "string" if kind in SHOWS else flow.value, flow.key, None


def _looking_step(draft: Draft, flow: Flow) -> tuple[dict, str, str, None] | None:
    """Reads the store of a table, which the caller connects, or a global one."""
    if draft.global_stores and draft.chance(0.5):
        return {"type": "lookup", "store": draft.global_stores[0]}, "string", flow.key, None
    table = draft.find(
        lambda each: (
            each.kind == TABLE
            and each.store is not None
            and each.key == flow.key
            and not each.versioned
        )
    )
    if table is None or table.windows is not None:
        return None
    return {"type": "lookup", "store": table.store}, "string", flow.key, None


def _punctuating_step(draft: Draft, flow: Flow) -> tuple[dict, str, str, dict]:
    store = key_value_store(draft, flow.key, "long")
    options = {
        "type": "count_emit",
        "store": store["name"],
        "time": draft.pick("stream_time", "wall_clock_time"),
        "every": draft.pick(1, 7, 20, 50),
    }
    if draft.chance(0.3):
        options["start"] = draft.pick(0, 13, 40)
    if draft.chance(0.5):
        options["clear"] = True
    if draft.chance(0.3):
        options["times"] = draft.pick(1, 3)
    return options, "long", flow.key, store


def _key_value_step(draft: Draft, flow: Flow) -> tuple[dict, str, str, dict]:
    kind = draft.pick("put", "dedupe", "count", "kv_scan", "put_if_absent", "lookup", "last_seen")
    timestamped = kind == "last_seen"
    store = key_value_store(
        draft, flow.key, "long" if kind == "count" else flow.value, timestamped=timestamped
    )
    options = {"type": kind, "store": store["name"]}
    if kind in {"put", "dedupe", "count", "put_if_absent"}:
        store = _bounded(draft, store)
    if kind == "kv_scan":
        options |= draft.pick(
            {"query": "all"},
            {"query": "reverse_all"},
            {"query": "range", "low": "b", "high": "d"},
            {"query": "range", "low": "c"},
            {"query": "range", "high": "b"},
            {"query": "reverse_range", "low": "a", "high": "c"},
            {"query": "prefix", "prefix": draft.pick("a", "b", "ba")},
        )
    value = {"count": "long", "dedupe": flow.value, "put": flow.value}.get(kind, "string")
    return options, value, flow.key, store


def key_value_store(draft: Draft, key: str, value: str, *, timestamped: bool = False) -> dict:
    store = {
        "name": draft.fresh("own-"),
        "kind": "timestamped_key_value" if timestamped else "key_value",
        "impl": draft.pick("in_memory", "persistent"),
        "key": key,
        "value": value,
    }
    return {**store, **_store_options(draft)}


def _bounded(draft: Draft, store: dict) -> dict:
    """Now and then one that keeps a few rows only, in memory and without a cache."""
    if draft.chance(0.92):
        return store
    store.pop("caching", None)
    return {**store, "impl": "lru", "max": draft.pick(1, 2, 4)}


def add_global_store(draft: Draft) -> None:
    """A store that the application fills; processors may look things up in it, though nobody connects it."""
    store = key_value_store(draft, "string", draft.pick("string", "long"))
    store.pop("caching", None)
    store["logging"] = False
    topic = draft.input_topic(store["key"], store["value"])
    draft.call(
        "add_global_store",
        store=store,
        topic=topic,
        consumed={"key": store["key"], "value": store["value"], **draft.name("source-")},
        processor={"type": "put", "store": store["name"]},
    )
    draft.global_stores.append(store["name"])


def _store_options(draft: Draft) -> dict:
    options = {}
    if draft.chance(0.2):
        options["caching"] = draft.chance(0.7)
    if draft.chance(0.15):
        options["logging"] = draft.pick(False, {"segment.ms": "1000"})
    return options


def _timed_step(draft: Draft, flow: Flow) -> tuple[dict, str, str, dict]:
    kind = draft.pick("window", "session", "versioned")
    store = {
        "name": draft.fresh("own-"),
        "kind": kind,
        "impl": draft.pick("in_memory", "persistent"),
        "key": flow.key,
        "value": flow.value,
    }
    options = {"type": f"{kind}_put", "store": store["name"], "back": draft.pick(0, 5, 30)}
    if kind == "window":
        store |= {"retention": draft.pick(20, 60), "window_size": draft.pick(5, 20)}
        if draft.chance(0.2):
            store["duplicates"] = True
        queries = ("fetch", "backward_fetch", "point", "all", "fetch_all", "fetch_keys")
        options["query"] = draft.pick(*queries)
        if options["query"] == "fetch_keys":
            options |= {"low": "a", "high": "c"}
    elif kind == "session":
        store["retention"] = draft.pick(20, 60)
        options |= {
            "length": draft.pick(0, 4),
            "query": draft.pick("find", "backward_find", "fetch", "backward_fetch"),
        }
    else:
        del store["impl"]
        store["history"] = draft.pick(20, 60)
        if draft.chance(0.3):
            store["segment"] = draft.pick(2, 10, 30)
        return options, "string", flow.key, store
    return options, "string", flow.key, {**store, **_store_options(draft)}


# Topologies of the Processor API.


def processor_topology(draft: Draft) -> None:
    """Sources, processors and sinks with several parents, stores that are shared, global and read-only ones."""
    flows = [_source(draft) for _ in range(draft.rng.randint(1, 3))]
    stores: list[dict] = []
    if draft.chance(0.2):
        stores.append(_filled_store(draft))
    for _ in range(draft.rng.randint(1, 5)):
        if draft.chance(0.1):
            flows += _parting(draft, draft.rng.choice(flows))
            continue
        made = _processor(draft, flows, stores)
        if made is not None:
            flows.append(made)
    for flow in flows:
        if draft.chance(0.8):
            _sink(draft, flow, flows)


def _source(draft: Draft) -> Flow:
    flow = Flow(
        draft.fresh("source-"), STREAM, "string", draft.pick("string", "long", draft.default_value)
    )
    fields: dict = {"topics": [draft.input_topic(flow.key, flow.value)], **draft.serdes(flow)}
    if draft.chance(0.15):
        fields["topics"].append(draft.input_topic(flow.key, flow.value))
    elif draft.chance(0.1):
        topic = fields.pop("topics")[0]
        fields["pattern"] = f"{topic[:2]}[{topic[2]}]{topic[3:]}"
    if draft.chance(0.1):
        fields["timestamps"] = draft.pick("plus:5", "use_partition_time")
    if draft.chance(0.1):
        fields["reset"] = draft.pick("earliest", "latest")
    draft.call("add_source", name=flow.id, **fields)
    return flow


def _filled_store(draft: Draft) -> dict:
    value = draft.pick("string", "long")
    op = draft.pick("add_global_store", "add_read_only_state_store")
    store = {
        "name": draft.fresh("filled-"),
        "kind": "key_value",
        "impl": draft.pick("in_memory", "persistent"),
        "key": "string",
        "value": value,
    }
    if op == "add_global_store":
        store["logging"] = False
    draft.call(
        op,
        store=store,
        source=draft.fresh("filled-source-"),
        key="string",
        value=value,
        topic=draft.input_topic("string", value),
        processor_name=draft.fresh("filler-"),
        processor={"type": "put", "store": store["name"]},
    )
    return {**store, "global": op == "add_global_store", "filled": True}


def _parting(draft: Draft, flow: Flow) -> list[Flow]:
    """A processor that gives each record to one of its two children by name."""
    parent = draft.fresh("parting-")
    children = [draft.fresh("side-"), draft.fresh("side-")]
    test = functions.predicate(flow.value, draft.rng)
    options = {"type": "to_children", "fn": test, "children": children}
    draft.call("add_processor", name=parent, processor=options, parents=[flow.id])
    for child in children:
        draft.call("add_processor", name=child, processor={"type": "pass"}, parents=[parent])
    return [Flow(child, STREAM, flow.key, flow.value) for child in children]


def _parents(draft: Draft, flow: Flow, flows: list[Flow]) -> list[str]:
    same = [
        each.id
        for each in flows
        if (each.key, each.value) == (flow.key, flow.value) and each.id != flow.id
    ]
    if same and draft.chance(0.25):
        return [flow.id, draft.rng.choice(same)]
    return [flow.id]


def _processor(draft: Draft, flows: list[Flow], stores: list[dict]) -> Flow | None:
    flow = draft.rng.choice(flows)
    name = draft.fresh(draft.pick("step-", "a-step-", "zz-"))
    shared = [
        s for s in stores if s["key"] == flow.key and (s.get("filled") or s["value"] == flow.value)
    ]
    if shared and draft.chance(0.4):
        store = draft.rng.choice(shared)
        kinds = (
            ["lookup"]
            if store.get("filled")
            else ["lookup", "put_if_absent", "dedupe", "kv_scan", "put"]
        )
        options = {"type": draft.rng.choice(kinds), "store": store["name"]}
        if options["type"] == "kv_scan":
            options["query"] = "all"
        value = flow.value if options["type"] in {"dedupe", "put"} else "string"
        draft.call(
            "add_processor", name=name, processor=options, parents=_parents(draft, flow, flows)
        )
        if not store.get("global"):
            draft.call("connect", processor=name, stores=[store["name"]])
        return Flow(name, STREAM, flow.key, value)
    step = random_step(draft, flow, full=True)
    if step is None:
        return None
    options, value, key, store = step
    if store is not None and draft.chance(0.3):
        options["provides"] = [store]
    draft.call("add_processor", name=name, processor=options, parents=_parents(draft, flow, flows))
    if store is not None and "provides" not in options:
        draft.call("add_state_store", store=store, processors=[name])
        if store["kind"] == "key_value" and options["type"] not in {"count", "count_emit"}:
            stores.append(store)
    return Flow(name, STREAM, key, value)


def _sink(draft: Draft, flow: Flow, flows: list[Flow]) -> None:
    fields = draft.serdes(flow)
    parents = _parents(draft, flow, flows)
    where = {"topic": draft.output_topic(flow)}
    if draft.chance(0.1):
        where = {"topic_fn": _by_source(draft, flow)}
    draft.call("add_sink", name=draft.fresh("sink-"), **where, parents=parents, **fields)


def _by_source(draft: Draft, flow: Flow) -> str:
    """A topic for each that is read."""
    prefix = draft.fresh("by") + "-"
    for topic in ["null", *(name for name, given in draft.topics.items() if "in" in given)]:
        draft.topics[prefix + topic] = {"key": flow.key, "value": flow.value}
    return f"by_source:{prefix}"
