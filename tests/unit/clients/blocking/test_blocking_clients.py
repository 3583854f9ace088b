"""Whatever an asyncio client can do, its blocking twin can."""

from __future__ import annotations

import inspect

import pytest

from millstream import clients
from millstream.clients import blocking

PAIRS = [
    pytest.param(getattr(clients, name), getattr(blocking, name), id=name)
    for name in ("Admin", "Consumer", "Producer", "ShareConsumer", "RangeReader")
    if hasattr(clients, name)
]


def public_methods(client: type) -> dict[str, object]:
    return {
        name: member
        for name, member in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(("client", "twin"), PAIRS)
def test_every_coroutine_has_its_twin(client: type, twin: type) -> None:
    coroutines = {
        name
        for name, member in public_methods(client).items()
        if inspect.iscoroutinefunction(member)
    }
    assert coroutines - public_methods(twin).keys() == set()


@pytest.mark.parametrize(("client", "twin"), PAIRS)
def test_twins_of_coroutines_take_what_these_take(client: type, twin: type) -> None:
    twins = public_methods(twin)
    for name, member in public_methods(client).items():
        if inspect.iscoroutinefunction(member) and name in twins and name != "close":
            ours = list(inspect.signature(member).parameters)[1:]
            assert list(inspect.signature(twins[name]).parameters)[1:] == ours, name
