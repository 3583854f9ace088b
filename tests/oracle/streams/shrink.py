"""Makes a case that differs smaller while it still differs in the same way: calls, inputs, options."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import islice

from streams.case_runner import CaseRunner

CANDIDATES_AT_ONCE = 12
Answer = Callable[[list[dict]], list[dict]]
"""Gives cases back with what Kafka Streams did, without those that it cannot run."""

_REFERENCES = ("from", "other")
_OPTIONS = (
    "name",
    "materialized",
    "consumed",
    "produced",
    "grouped",
    "joined",
    "stream_joined",
    "table_joined",
    "repartitioned",
)


def differences(case: dict, spec: dict | None = None) -> list[str]:
    return CaseRunner(case, case["spec"] if spec is None else spec).differences()


def shrink(case: dict, answer: Answer) -> dict:
    """The smallest case found; `case` carries its specification and differs."""
    wanted = _kind(differences(case))
    for candidates_of in (_one_end, _fewer_inputs, _fewer_calls, _fewer_inputs, _fewer_options):
        case = _while_smaller(case, candidates_of, wanted, answer)
    return case


def _kind(found: list[str]) -> str:
    """What of the result differs; of an error also how, or another error would take its place."""
    if not found:
        return ""
    return found[0] if found[0].startswith("error") else found[0].split()[0]


def _while_smaller(
    case: dict, candidates_of: Callable[[dict], Iterator[dict]], wanted: str, answer: Answer
) -> dict:
    """The first candidate that differs takes the case's place, as long as there is one."""
    while True:
        candidates = candidates_of(case)
        found = None
        while found is None and (some := list(islice(candidates, CANDIDATES_AT_ONCE))):
            for candidate in some:
                candidate.pop("expect", None)
            still = (each for each in answer(some) if _kind(differences(each)) == wanted)
            found = next(still, None)
        if found is None:
            return case
        case = found


def _one_end(case: dict) -> Iterator[dict]:
    """Only one of the calls that nothing goes on from, and what leads to it."""
    ops = case["spec"]["ops"]
    used = {op.get(field) for op in ops for field in _REFERENCES}
    ends = [op for op in ops if op.get("id") not in used and not _branch_ids(op)]
    for end in ends if len(ends) > 1 else ():
        wanted, kept = {end.get(field) for field in _REFERENCES}, []
        for op in reversed(ops):
            is_wanted = op is end or op.get("id") in wanted or wanted & set(_branch_ids(op))
            if is_wanted or op["op"] == "add_state_store":
                wanted |= {op.get(field) for field in _REFERENCES} - {None}
                kept.append(op)
        yield _with_ops(case, kept[::-1])


def _fewer_inputs(case: dict) -> Iterator[dict]:
    """Large pieces are tried before small ones."""
    inputs = case["inputs"]
    size = len(inputs)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(inputs), size):
            yield {**case, "inputs": inputs[:start] + inputs[start + size :]}


def _fewer_calls(case: dict) -> Iterator[dict]:
    """Without a call and all that follow from it, or with what it was called on in its place."""
    ops = case["spec"]["ops"]
    for number in reversed(range(len(ops))):
        gone = {ops[number].get("id")} - {None} | set(_branch_ids(ops[number]))
        kept = []
        for op in ops[:number] + ops[number + 1 :]:
            if any(op.get(field) in gone for field in _REFERENCES):
                gone |= {op.get("id")} | set(_branch_ids(op))
            else:
                kept.append(op)
        yield _with_ops(case, kept)
        if "from" in ops[number] and "id" in ops[number]:
            yield _with_ops(case, _bypassed(ops, number))
    for number, op in enumerate(ops):
        if op["op"] == "split" and len(op["branches"]) > 1:
            for branch in range(len(op["branches"])):
                fewer = copy.deepcopy(ops)
                del fewer[number]["branches"][branch]
                yield _with_ops(case, fewer)


def _branch_ids(op: dict) -> list[str]:
    branches = [*op.get("branches", ()), *([op["default"]] if "default" in op else [])]
    return [branch["id"] for branch in branches if "id" in branch]


def _bypassed(ops: list[dict], number: int) -> list[dict]:
    old, new = ops[number]["id"], ops[number]["from"]
    rest = copy.deepcopy(ops[:number] + ops[number + 1 :])
    for op in rest:
        for field in _REFERENCES:
            if op.get(field) == old:
                op[field] = new
    return rest


def _with_ops(case: dict, ops: list[dict]) -> dict:
    return {**case, "spec": {**case["spec"], "ops": ops}}


def _fewer_options(case: dict) -> Iterator[dict]:
    spec = case["spec"]
    for setting in spec.get("config", {}):
        config = {name: value for name, value in spec["config"].items() if name != setting}
        yield {**case, "spec": {**spec, "config": config}}
    for number, op in enumerate(spec["ops"]):
        for option in _OPTIONS:
            if option not in op:
                continue
            fewer = copy.deepcopy(spec["ops"])
            del fewer[number][option]
            yield _with_ops(case, fewer)
            if not isinstance(op[option], dict):
                continue
            for field in op[option]:
                fewer = copy.deepcopy(spec["ops"])
                del fewer[number][option][field]
                yield _with_ops(case, fewer)
    if case.get("internal"):
        yield {name: value for name, value in case.items() if name != "internal"}
