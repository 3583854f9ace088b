from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from millstream.runtime import native
from millstream.runtime.native import LEAVES, interpreted_note, load_leaf, warn_where_interpreted

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


def test_the_leaves_that_are_looked_for_are_those_that_are_built() -> None:
    setup = (Path(__file__).resolve().parents[3] / "setup.py").read_text()
    assert list(LEAVES) == re.findall(r'"(millstream\.[\w.]+)"', setup)


def built(
    monkeypatch: pytest.MonkeyPatch, leaves: tuple[str, ...], *, requests: bool = True
) -> None:
    """As if these leaves and no others had been compiled, and the modules that requests pass."""
    monkeypatch.setattr(native, "are_compiled", lambda: requests)
    monkeypatch.delenv("MILLSTREAM_PURE", raising=False)
    monkeypatch.setattr(native, "_is_built", leaves.__contains__)


def test_nothing_is_said_where_all_leaves_are_compiled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    built(monkeypatch, LEAVES)
    assert interpreted_note() is None
    warn_where_interpreted("counting")
    assert caplog.messages == []


def test_requests_that_pass_sources_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    built(monkeypatch, LEAVES, requests=False)
    assert (interpreted_note() or "").startswith("interpreted, several times slower than compiled")


@pytest.mark.parametrize("missing", LEAVES)
def test_one_missing_leaf_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, missing: str
) -> None:
    built(monkeypatch, tuple(leaf for leaf in LEAVES if leaf != missing))
    warn_where_interpreted("counting")
    (message,) = caplog.messages
    assert message == (
        "counting: interpreted, several times slower than compiled; install Millstream from a wheel for this Python, "
        "or again where there is a C compiler (Debian: apt-get install gcc python3-dev)"
    )


def test_who_asked_for_pure_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    built(monkeypatch, LEAVES)
    monkeypatch.setenv("MILLSTREAM_PURE", "1")
    assert interpreted_note() == (
        "interpreted, several times slower than compiled, because MILLSTREAM_PURE=1 is set; unset it"
    )
