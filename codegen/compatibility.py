"""Writes docs/compatibility.md from the broker's registry: what is served, in which versions, and what is not and why."""

from __future__ import annotations

import ast
from itertools import takewhile
from pathlib import Path
from typing import Final

import millstream
from codegen.skipped_apis import SKIPPED
from millstream.broker.requests.registry import HANDLERS, Handler
from millstream.protocol.api import VERSIONS, ApiKey

_SOURCES: Final = Path(millstream.__file__).parents[1]
_HEADER = """# Compatibility with Apache Kafka 4.3

Written by `make docs` from the broker's registry. An API that is not served is not announced in ApiVersions, so a client
finds out before it depends on it.

{served} of {total} APIs are served.

| key | API | Kafka 4.3 | Millstream | what it does here |
|--:|---|---|---|---|
"""

_NOTES = """
## Limits of what is served

{notes}
"""


def render() -> str:
    rows, notes = [], []
    for key, versions in sorted(VERSIONS.items()):
        name = api_name(key)
        handler = HANDLERS.get(key)
        kafka = _range(versions.lowest, versions.highest)
        if handler is None:
            rows.append(f"| {key.value} | {name} | {kafka} | no | {SKIPPED[key]} |")
            continue
        summary, limits = _described(handler)
        rows.append(
            f"| {key.value} | {name} | {kafka} | {_range(handler.api.lowest, handler.api.highest)} | {summary} |"
        )
        if limits:
            notes.append(f"**{name}.** Not supported: {limits}")
    text = _HEADER.format(served=len(HANDLERS), total=len(VERSIONS)) + "\n".join(rows) + "\n"
    return text + (_NOTES.format(notes="\n\n".join(notes)) if notes else "")


def api_name(key: ApiKey) -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


def _range(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def _source(handler: Handler) -> Path:
    """Of a module that may be loaded compiled, and then has no docstring."""
    return _SOURCES.joinpath(*handler.handle.__module__.split(".")).with_suffix(".py")


def _described(handler: Handler) -> tuple[str, str]:
    """What the handler module's docstring says before the versions, and what stands behind "Not supported:" in it."""
    text = ast.get_docstring(ast.parse(_source(handler).read_text())) or ""
    first, *more = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    before = takewhile(lambda paragraph: not paragraph.startswith("Version"), more)
    summary = " ".join((first, *before))
    limits = next((limits for each in more if (limits := each.partition("Not supported: ")[2])), "")
    return summary.partition(": ")[2] or summary, limits
