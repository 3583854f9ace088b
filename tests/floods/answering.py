"""What the processes of a flood have in common: each line on standard input is answered by a line of JSON, and its end is theirs."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping


def answer_lines(run: Callable[[], object], take: Callable[[], Mapping[str, object]]) -> None:
    """Has `run`, which never returns, in a thread, and says what `take` gives as often as it is asked."""
    threading.Thread(target=run, daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(take()), flush=True)
