"""Changes what one module of ours has of the standard library. To everybody else, threads included, the library stays as it is."""

from __future__ import annotations

from types import ModuleType

import pytest


def patch_library(
    monkeypatch: pytest.MonkeyPatch, of: str, library: ModuleType, **changed: object
) -> None:
    """Replaces functions of `library` for the module named `of`, which must be interpreted: a compiled one has kept its own."""
    changed_library = ModuleType(library.__name__)
    changed_library.__dict__.update(vars(library), **changed)
    monkeypatch.setattr(f"{of}.{library.__name__}", changed_library)
