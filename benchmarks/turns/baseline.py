"""The commit that nobody may be slower than: `benchmarks/baseline.json`, used when no other is named.

Whoever makes a row better raises it, in a commit of its own after the one that won, once every row is decided and none is
worse. It is not raised by a change that costs something: small losses would then add up unseen.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

BASELINE: Final = Path("benchmarks/baseline.json")
_FIELDS: Final = {"commit", "raised", "because"}


class Baseline(NamedTuple):
    """`raised`: the date, `because`: what was won by then."""

    commit: str
    raised: str
    because: str


def parse_baseline(text: str) -> Baseline:
    """Raises ValueError that says what is wrong."""
    found = json.loads(text)
    if not isinstance(found, dict) or set(found) != _FIELDS:
        raise ValueError(f"{BASELINE} has the fields {', '.join(sorted(_FIELDS))}, and no others")
    baseline = Baseline(**found)
    if not re.fullmatch(r"[0-9a-f]{40}", baseline.commit):
        raise ValueError(
            f"{BASELINE}: the commit is named by its 40 digits, not {baseline.commit!r}"
        )
    if not re.fullmatch(r"20\d\d-\d\d-\d\d", baseline.raised):
        raise ValueError(
            f"{BASELINE}: raised is a date such as 2026-11-29, not {baseline.raised!r}"
        )
    if not baseline.because:
        raise ValueError(f"{BASELINE}: because says what was won")
    return baseline
