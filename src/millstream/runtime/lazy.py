"""Packages whose public names are imported when they are used.

Who wants one client should not wait for the modules of all. A package imports its names under `if TYPE_CHECKING` for
readers and type checkers, and lists them under `else` for the interpreter; tests/tidy holds the two equal. Type
checkers must not see the `__getattr__`, or every name would exist for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def names_of(
    package: str, modules: Mapping[str, str], *, extras: tuple[str, ...] = ()
) -> Callable[[str], object]:
    """Returns the package's `__getattr__` (PEP 562).

    `modules`: by module, relative to nothing, its names with spaces between. `extras`: those whose
    packages they may need.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in homes:
            from millstream.foreign_names.explanation import explanation_of_package

            instead = explanation_of_package(package, name)
            if instead is not None:  # `from … import …` would hide the words of an AttributeError
                raise ImportError(instead)
            raise AttributeError(f"module {package} has no attribute {name!r}")
        if not extras:
            return getattr(import_module(homes[name]), name)
        from millstream.runtime.extras import explain_missing

        with explain_missing(f"{package}.{name}", *extras):
            return getattr(import_module(homes[name]), name)

    return get
