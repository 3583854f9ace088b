"""millstream/foreign_names/generated/kafka_streams.py, from the page that shows Java's methods beside ours.

One source: what the page says of a method is what an error says to whoever writes Java's name by habit.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/java-to-python.md"
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
HEADER = '''\
"""Java's names in Kafka Streams 4.3.1 and what they are here, by class.

Written by `make codegen` from docs/reference/java-to-python.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NAMES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
'''


def names(page: str) -> dict[str, dict[str, str]]:
    """By class of Java, what each of its names is here; a name with several rows has all of them."""
    found: dict[str, dict[str, str]] = {}
    for section in page.split("\n## ")[1:]:
        kind, _, text = section.partition("\n")
        rows = [row for row in ROW.findall(text) if row[0] not in {"Java", "---"}]
        for left, right in rows:
            for name in re.findall(r"`(\w+)`", left):
                of_kind = found.setdefault(kind, {})
                known = of_kind.get(name)
                of_kind[name] = _plain(right) if known is None else f"{known}, or {_plain(right)}"
    return found


def _plain(cell: str) -> str:
    """Text of a cell of Markdown, without the marks of code and links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", "")
    if text.startswith(("\u2013", "not yet")):
        text = text.replace("not yet", "not built")
        return text.replace("\u2013; ", "not needed: ").replace("\u2013", "not needed").strip()
    return text


def render() -> str:
    lines = [HEADER]
    for kind, methods in names(PAGE.read_text()).items():
        lines.append(f"        {kind!r}: {{\n".replace("'", '"'))
        for name, ours in methods.items():
            text = ours.replace("\\", "\\\\")
            quoted = (
                f"'{text}'"
                if '"' in text and "'" not in text
                else '"' + text.replace('"', '\\"') + '"'
            )
            lines.append(f'            "{name}": {quoted},\n')
        lines.append("        },\n")
    lines.append('    }\n)\n"""By class of Java, then by name."""\n')
    return "".join(lines)
