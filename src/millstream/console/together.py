"""Several questions at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

_Result = TypeVar("_Result")


async def together(calls: Iterable[Coroutine[object, object, _Result]]) -> list[_Result]:
    """Their results, in order. The first that fails ends the others; its error is raised as it is, not as a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]
