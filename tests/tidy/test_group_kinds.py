"""The kinds of groups, and the coordinators, have one shape: the same modules, one signature, complete tables, one way to move soft state."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from millstream.coordinator.context import OperationContext
from millstream.coordinator.group.context import GroupContext, GroupHandlers
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.group.operations import KINDS, OPERATIONS, REPLAYS
from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.share.context import ShareContext
from millstream.coordinator.share.shard import OPERATIONS as SHARE_OPERATIONS
from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.shard import OPERATIONS as TRANSACTION_OPERATIONS
from millstream.protocol.generated.group_records import (
    GroupKey,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
)

COORDINATOR = Path(__file__).parents[2] / "src" / "millstream" / "coordinator"
GROUP = COORDINATOR / "group"

OF_EVERY_KIND = {
    "describe", "group", "heartbeat", "member", "operations", "records", "removal", "replay", "sessions",
}  # fmt: skip
OF_KINDS_THE_COORDINATOR_ASSIGNS = {"reconciliation", "request_check", "target_assignment"}
SHARD_LINES_MAX = 150


def modules_of(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("kind", GroupKind)
def test_every_kind_has_the_same_modules(kind: GroupKind) -> None:
    wanted = OF_EVERY_KIND
    if kind is not GroupKind.CLASSIC:
        wanted = wanted | OF_KINDS_THE_COORDINATOR_ASSIGNS
    assert wanted <= modules_of(GROUP / kind)


@pytest.mark.parametrize("kind", GroupKind)
def test_every_kind_is_served_by_its_own_folder(kind: GroupKind) -> None:
    handlers: GroupHandlers = KINDS[kind]
    package = f"millstream.coordinator.group.{kind}"
    assert handlers.group_type is vars(import_module(f"{package}.group"))[f"{kind.title()}Group"]
    assert handlers.replay is import_module(f"{package}.replay").replay
    assert handlers.expire is import_module(f"{package}.operations").expire
    assert handlers.resume is import_module(f"{package}.operations").resume
    assert list(inspect.signature(handlers.replay).parameters) == ["groups", "record"]
    assert list(inspect.signature(handlers.resume).parameters) == ["context", "group"]
    assert list(inspect.signature(handlers.expire).parameters) == ["context", "group", "timer"]


@pytest.mark.parametrize(
    ("context", "operations"),
    [
        (GroupContext, OPERATIONS),
        (TransactionContext, TRANSACTION_OPERATIONS),
        (ShareContext, SHARE_OPERATIONS),
    ],
    ids=["groups", "transactions", "share states"],
)
def test_every_operation_has_one_signature(
    context: type[OperationContext], operations: Mapping[type, Callable[..., object]]
) -> None:
    for request, operation in operations.items():
        hints: dict[str, Any] = get_type_hints(operation)
        assert hints == {"context": context, "request": request, "return": CoordinatorResult}
        assert list(inspect.signature(operation).parameters) == ["context", "request"]


def test_every_operation_stands_in_the_table_and_in_one_place() -> None:
    listed = [request for kind in KINDS.values() for request in kind.operations]
    assert len(listed) == len(set(listed))
    written = {f"{path}:{name}" for path, name in operations_in(GROUP)}
    known = {
        f"{Path(inspect.getfile(operation))}:{operation.__name__}"
        for operation in OPERATIONS.values()
    }
    assert written == known


def operations_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Public functions of the signature of operations."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, ast.FunctionDef)
                and not node.name.startswith("_")
                and [argument.arg for argument in node.args.args] == ["context", "request"]
                and isinstance(node.returns, ast.Name)
                and node.returns.id == "CoordinatorResult"
            ):
                yield path, node.name


def test_every_record_of_groups_is_replayed() -> None:
    """But for offsets under keys of version 0, which are passed over."""
    assert {*REPLAYS, OffsetCommitKey, LegacyOffsetCommitKey} == set(get_args(GroupKey))


def test_soft_state_of_groups_is_moved_in_one_place() -> None:
    """An operation that moves it goes through the context, which undoes it when the records are refused."""
    moved = [
        f"{path.relative_to(GROUP)}:{node.lineno}"
        for path in sorted(GROUP.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr == "soft"
        and isinstance(node.ctx, ast.Store)
    ]
    owners = {place.split(":")[0] for place in moved}
    assert owners == {"context.py", "consumer/group.py", "share/group.py", "streams/group.py"}
    for kind in (GroupKind.CONSUMER, GroupKind.SHARE, GroupKind.STREAMS):
        assert len([place for place in moved if place.startswith(f"{kind}/group.py")]) == 1


def test_shards_are_short() -> None:
    for name in ("group", "share", "transaction"):
        lines = (COORDINATOR / name / "shard.py").read_text().splitlines()
        assert len(lines) < SHARD_LINES_MAX
