"""docs/reference/states.md: the state machines of groups, transactions, share records, the quorum and tasks, from their tables."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import ModuleType
from typing import TypeVar

from millstream.coordinator.group.classic import group as classic
from millstream.coordinator.share import state_batch as share
from millstream.coordinator.transaction import state as transaction
from millstream.protocol.enums import GroupState, TransactionState
from millstream.raft import quorum_state, roles
from millstream.raft.roles import Role
from millstream.streams.runtime.tasks import task_state

StateT = TypeVar("StateT")

INTRODUCTION = """\
# States

How groups, transactions, records of share groups, replicas of the metadata quorum and tasks of Kafka Streams applications go from
state to state. The tables are those that the code checks every step against. This page is generated; run `make docs`.
"""


def render() -> str:
    return "\n".join(
        [
            INTRODUCTION,
            *_machine("Classic groups", classic, classic.TRANSITIONS, str),
            *_states_of_groups(),
            *_machine("Transactions", transaction, transaction.TRANSITIONS, str),
            *_meanings(TransactionState, str),
            *_machine("Records of a share group", share, share.RECORD_TRANSITIONS, _title),
            *_meanings(share.RecordState, _title),
            *_machine("Replicas of the quorum", quorum_state, quorum_state.TRANSITIONS, _role),
            *_roles(),
            *_machine("Tasks of applications", task_state, task_state.TRANSITIONS, str),
            *_meanings(task_state.TaskLifeState, str),
        ]
    )


def _title(state: Enum) -> str:
    return state.name.title()


def _role(role: type[Role]) -> str:
    return role.__name__


def _machine(
    title: str,
    module: ModuleType,
    transitions: Mapping[StateT, Mapping[StateT, str]],
    name: Callable[[StateT], str],
) -> Iterator[str]:
    """A diagram, and what leads from each state to the next."""
    path = module.__name__.removeprefix("millstream.").replace(".", "/")
    yield f"## {title}\n"
    yield f"`{path}.py`\n"
    yield "```mermaid\nstateDiagram-v2"
    for before, following in transitions.items():
        yield from (f"    {name(before)} --> {name(after)}" for after in following)
    yield "```\n"
    yield "| from | to | when |\n|---|---|---|"
    for before, following in transitions.items():
        for after, reason in following.items():
            yield f"| {name(before)} | {name(after)} | {reason} |"
    yield ""


def _meanings(states: type[Enum], name: Callable[..., str]) -> Iterator[str]:
    """The documentation that stands below each state in its source."""
    docs = _documentation(states)
    yield "| state | meaning |\n|---|---|"
    yield from (f"| {name(state)} | {docs.get(state.name, '')} |" for state in states)
    yield ""


def _documentation(states: type[Enum]) -> dict[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(states))).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    last = ""
    for node in definition.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            last = node.targets[0].id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            docs[last] = " ".join(inspect.cleandoc(str(node.value.value)).split())
            last = ""
        else:
            last = ""
    return docs


def _states_of_groups() -> Iterator[str]:
    yield "## Groups of all kinds\n"
    yield "Those of consumer, streams and share groups are not kept: they follow from the members and the epochs.\n"
    yield from _meanings(GroupState, str)


def _roles() -> Iterator[str]:
    """The lines of the table in the documentation of the roles."""
    yield "| role | meaning |\n|---|---|"
    lines = inspect.cleandoc(roles.__doc__ or "").splitlines()
    names = {role.__name__ for role in quorum_state.TRANSITIONS}
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word in names:
            yield f"| {word} | {rest.strip()} |"
    yield ""
