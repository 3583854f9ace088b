from __future__ import annotations

import importlib.util

import pytest

from millstream.runtime.native import load_leaf

WALKER = "millstream.records.walker"


def test_source_is_used_when_pure_python_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_PURE", "1")
    assert load_leaf(WALKER).__name__ == WALKER


def test_compiled_twin_is_preferred_where_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLSTREAM_PURE", raising=False)
    built = importlib.util.find_spec(f"{WALKER}_compiled") is not None
    assert load_leaf(WALKER).__name__ == (f"{WALKER}_compiled" if built else WALKER)


def test_module_without_a_compiled_twin_is_its_own_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLSTREAM_PURE", raising=False)
    assert load_leaf("millstream.records.batch").__name__ == "millstream.records.batch"
