"""A node that another process has started: what it says to its parent, and how it learns of its parent's death.

The end of its input is the end of its parent. A paused process could not see that, so the system wakes it.
"""

from __future__ import annotations

import signal
import sys
from typing import Final

BROKER_STOPPED: Final = "millstream stopped broker"
"""The line on standard output of a node of `millstream cluster` whose broker has stopped, and whose controller goes
on."""
_PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2)."""


def wake_at_parent_death() -> None:
    """Asks the system for a SIGCONT when the thread ends that started this process.

    Only Linux has that; elsewhere a paused process stays until somebody wakes it.
    """
    if sys.platform == "linux":
        import ctypes  # a node that nobody has started this way does without

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
