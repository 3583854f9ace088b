"""Sources that read every topic a pattern matches: which of them a topic belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.streams.errors import TopologyError


def source_matching(patterns: Mapping[str, str], topic: str) -> str | None:
    """Returns the source whose pattern matches a topic; `patterns` are by source.

    Raises TopologyError where two match it.
    """
    matching = [name for name, pattern in patterns.items() if re.fullmatch(pattern, topic)]
    if len(matching) > 1:
        first, second = (f"pattern {patterns[name]} of {name}" for name in matching[:2])
        raise TopologyError(f"topic {topic} matches {first} and {second}: narrow one of them")
    return matching[0] if matching else None
