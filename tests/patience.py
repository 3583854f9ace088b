"""How long a test waits for what must come.

On a machine that is busy with other things a step of milliseconds may take seconds, and everything may stand still for
a while. What is to succeed is therefore given LONG_ENOUGH_S, whatever it takes when nobody else is about; it costs
nothing, because a test goes on as soon as it has what it waits for. Only tests of a time limit set a short one.
"""

from __future__ import annotations

LONG_ENOUGH_S = 60.0
"""Half of what pytest gives a test: who waits in vain says what for."""
LONG_ENOUGH_MS = 60_000
