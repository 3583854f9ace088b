"""Random specifications: what calls are made on which flows, and the settings around them."""

from __future__ import annotations

import random
from collections.abc import Callable

from streams.generator import aggregations, joins, processors, sources, steps
from streams.generator.draft import STREAM, TABLE, Draft, Flow

Step = Callable[[Draft, Flow], None]
STREAM_STEPS: dict[Step, int] = {
    steps.filter_stream: 4,
    steps.map_stream_values: 5,
    steps.select_key: 4,
    steps.map_stream: 3,
    steps.flat_map: 2,
    steps.flat_map_values: 2,
    steps.look: 1,
    steps.merge: 3,
    steps.split: 3,
    steps.repartition: 2,
    steps.through: 1,
    steps.to_table: 4,
    steps.send: 2,
    processors.process: 5,
    aggregations.aggregate_stream: 14,
    joins.join_streams: 8,
    joins.join_stream_with_table: 7,
    joins.join_with_global: 2,
}
TABLE_STEPS: dict[Step, int] = {
    steps.filter_table: 4,
    steps.map_table_values: 4,
    steps.transform_table_values: 2,
    steps.to_stream: 6,
    steps.suppress: 4,
    aggregations.aggregate_table: 6,
    joins.join_tables: 8,
    joins.join_on_foreign_key: 6,
}
OPTIMIZATIONS = (
    "all",
    "all",
    "none",
    "reuse.ktable.source.topics",
    "merge.repartition.topics",
    "single.store.self.join",
    "merge.repartition.topics,reuse.ktable.source.topics",
)


def random_spec(name: str, rng: random.Random) -> dict:
    """One specification; `rng` alone decides what it is."""
    draft = Draft(rng)
    _settings(draft)
    if rng.random() < 0.1:
        processors.processor_topology(draft)
        return {"api": "topology", **draft.spec(name)}
    if draft.chance(0.05):
        processors.add_global_store(draft)
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        sources.add_source(draft)
    for _ in range(rng.choice([1, 2, 3, 4, 5, 6, 8, 10])):
        _step(draft)
    for flow in _ends(draft):
        _finish(draft, flow)
    return draft.spec(name)


def _settings(draft: Draft) -> None:
    config = draft.config
    if draft.chance(0.25):
        config["topology.optimization"] = draft.pick(*OPTIMIZATIONS)
    if draft.chance(0.12):
        config["statestore.cache.max.bytes"] = draft.pick("150", "300", "1000", "1048576")
    if draft.chance(0.1):
        config["dsl.store.suppliers.class"] = draft.pick("in_memory", "rocksdb")
    if draft.chance(0.1):
        config["dsl.store.format"] = "HEADERS"
    if draft.chance(0.08):
        _handlers(draft)
    if draft.chance(0.04):
        extractors = ("fail_on_invalid", "log_and_skip", "use_partition_time")
        config["default.timestamp.extractor"] = draft.pick(*extractors)
    if draft.chance(0.08):
        interval = draft.pick("windowed.aggregation", "outer.join.spurious.results.fix")
        config[f"__emit.interval.ms.kstreams.{interval}__"] = draft.pick("1", "20", "1000")
    if draft.chance(0.02):
        config["ensure.explicit.internal.resource.naming"] = "true"


def _handlers(draft: Draft) -> None:
    for kind in ("deserialization", "processing"):
        if draft.chance(0.7):
            draft.config[f"{kind}.exception.handler"] = draft.pick("continue", "continue", "fail")
    if draft.chance(0.4):
        draft.config["errors.dead.letter.queue.topic.name"] = "dead"
        draft.topics["dead"] = {"key": "bytes", "value": "bytes", "header_values": False}


def _step(draft: Draft) -> None:
    flow = draft.find(
        lambda each: each.kind in {STREAM, TABLE} and each.value in {"string", "long"}
    )
    if flow is None:
        sources.add_source(draft)
        return
    weights = STREAM_STEPS if flow.kind == STREAM else TABLE_STEPS
    draft.rng.choices(list(weights), list(weights.values()))[0](draft, flow)


def _ends(draft: Draft) -> list[Flow]:
    """Flows that nothing goes on with, and now and then another one."""
    used = {op.get(field) for op in draft.ops for field in ("from", "other")}
    return [flow for flow in draft.flows if flow.id not in used or draft.chance(0.1)]


def _finish(draft: Draft, flow: Flow) -> None:
    """Shows the flow in an output topic."""
    if flow.kind == TABLE and draft.chance(0.9):
        before = len(draft.flows)
        steps.to_stream(draft, flow)
        flow = draft.flows[before]
    if flow.kind == STREAM and draft.chance(0.95):
        steps.send(draft, flow)


TABLES_ONLY: dict[Step, int] = {
    steps.filter_table: 3,
    steps.map_table_values: 3,
    joins.join_tables: 5,
    joins.join_on_foreign_key: 4,
}


def random_tables(name: str, rng: random.Random) -> dict:
    """Tables made of tables, whose final rows follow from the final rows of the input topics; each goes to a topic.

    The result of op `oN` goes to topic `final-oN`.
    """
    draft = Draft(rng)
    for _ in range(rng.randint(1, 3)):
        sources.add_table(draft)
    for _ in range(rng.randint(1, 6)):
        flow = draft.find(lambda each: each.value in {"string", "long"})
        assert flow is not None, "there is a table to begin with"
        rng.choices(list(TABLES_ONLY), list(TABLES_ONLY.values()))[0](draft, flow)
    for flow in list(draft.flows):
        stream = draft.add("to_stream", flow)
        topic = f"final-{flow.id}"
        draft.topics[topic] = {"key": flow.key, "value": flow.value}
        produced = {"key": flow.key, "value": flow.value}
        draft.ops.append({"op": "to", "from": stream, "topic": topic, "produced": produced})
    for op in draft.ops:
        _keep_newest(op)
    for topic in draft.topics.values():
        for hint in ("bad", "negative"):
            topic.get("in", {}).pop(hint, None)
    draft.undumpable = False
    return draft.spec(name)


def _keep_newest(op: dict) -> None:
    """Versioned tables leave out late records, bounded ones old rows; others take the last one that came. None fails."""
    options = op.get("materialized", {})
    supplier = options.get("supplier", {})
    if supplier.get("kind") == "versioned" or supplier.get("impl") == "lru":
        options["store"] = options.pop("supplier")["name"]
    op.get("consumed", {}).pop("timestamps", None)
    if op.get("fn") == "fail_if_negative":
        op["fn"] = "identity"
