"""Asks one of a task's stores: those of a task that runs, that is being restored, or of a copy of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.streams.errors import InvalidStoreError
from millstream.streams.queries.answers import answer
from millstream.streams.queries.result import (
    FailureReason,
    Position,
    QueryResult,
    StateQueryRequest,
    is_up_to,
)
from millstream.streams.state.store import StateStore


def ask_store(
    task_id: str, stores: Mapping[str, StateStore], request: StateQueryRequest, position: Position
) -> QueryResult:
    """Returns what a store answers that has seen its input up to `position`.

    Raises InvalidStoreError for a store that is not here.
    """
    store = stores.get(request.store)
    if store is None:
        raise InvalidStoreError(f"there is no store {request.store}; there are {sorted(stores)}")
    if not is_up_to(position, request.position_bound):
        return QueryResult(
            failure=FailureReason.NOT_UP_TO_BOUND,
            message=f"store {request.store} is at {position}, not yet at {request.position_bound}",
            position=position,
        )
    info = (f"task {task_id}: {type(store).__name__}",) if request.execution_info else ()
    return replace(answer(store, request.query), position=position, execution_info=info)
