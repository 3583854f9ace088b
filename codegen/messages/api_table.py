"""Writes protocol/generated/api_keys.py: every API, its key and versions, and the module of its messages."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.messages.lines import Lines
from codegen.messages.names import api_name, constant
from millstream.protocol.schema import MessageSchema

_HEAD = '''"""The API table of Kafka 4.3: keys, versions, and where the messages are.

Written by `make codegen` from codegen/schemas.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class ApiKey(IntEnum):
    """What a request asks for; the first field of its header."""'''


def render_api_table(modules: Mapping[str, list[MessageSchema]]) -> str:
    """`modules`: the messages of each generated module."""
    apis = sorted(
        (messages[0].key or 0, name, messages[0])
        for name, messages in modules.items()
        if messages[0].listeners
    )
    lines = Lines()
    lines.add(_HEAD, "")
    lines.add(*(f"    {constant(api_name(request))} = {key}" for key, _, request in apis))
    lines.add("", "")
    lines.add("API_VERSIONS: Final[dict[ApiKey, tuple[int, int, int | None]]] = {")
    for _, _, request in apis:
        highest = (
            request.versions.highest if request.unstable_from is None else request.unstable_from - 1
        )
        versions = f"({request.versions.lowest}, {highest}, {request.flexible_from})"
        lines.add(f"    ApiKey.{constant(api_name(request))}: {versions},")
    lines.add("}", '"""Lowest version, highest that is stable, first flexible one or None."""', "")
    lines.add("API_MODULES: Final[dict[ApiKey, tuple[str, str]]] = {")
    for _, module, request in apis:
        name = api_name(request)
        lines.add(f'    ApiKey.{constant(name)}: ("{module}", "{name}"),')
    lines.add("}", '"""Module, and the name that `Request` and `Response` are appended to."""', "")
    lines.add("CONTROLLER_APIS: Final = frozenset({")
    lines.add(
        *(f"    ApiKey.{constant(api_name(r))}," for _, _, r in apis if "controller" in r.listeners)
    )
    lines.add("})", '"""Served on a controller\'s listener."""', "")
    lines.add("BROKER_APIS: Final = frozenset({")
    lines.add(
        *(f"    ApiKey.{constant(api_name(r))}," for _, _, r in apis if "broker" in r.listeners)
    )
    lines.add("})", '"""Served on a broker\'s listener."""', "")
    return lines.text()
