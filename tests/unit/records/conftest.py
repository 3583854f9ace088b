"""Runs what touches a leaf once with each of its twins."""

from __future__ import annotations

import importlib

import pytest

from millstream.records import arrow, builder, record


@pytest.fixture(params=["interpreted", "compiled"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The package uses this twin of both leaves while the test runs."""
    suffix = "_compiled" if request.param == "compiled" else ""
    try:
        walker = importlib.import_module(f"millstream.records.walker{suffix}")
        writer = importlib.import_module(f"millstream.records.writer{suffix}")
    except ModuleNotFoundError:
        pytest.skip(
            "the compiled leaves were not built: no C compiler or no Cython at install time"
        )
    monkeypatch.setattr(arrow, "walker", walker)
    monkeypatch.setattr(arrow, "writer", writer)
    monkeypatch.setattr(record, "walker", walker)
    monkeypatch.setattr(builder, "writer", writer)
    return str(request.param)
