"""What a call is told that goes on trying until its time is over.

The reason is that of its last try. Where the machine left it no time for one, it says only that the time is over, and
another call is needed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable

import pytest

from millstream.errors import KafkaError
from tests.patience import LONG_ENOUGH_S


async def refusal(call: Callable[[], Awaitable[object]], *sentences: str) -> KafkaError:
    """The error of the first call whose words match them all. Fails with the words of the last one."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while True:
        with pytest.raises(KafkaError) as caught:
            await call()
        if all(re.search(sentence, str(caught.value)) for sentence in sentences):
            return caught.value
        assert time.monotonic() < deadline, str(caught.value)
