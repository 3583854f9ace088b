"""Memory that was freed goes back to the system."""

from __future__ import annotations

import ctypes


def give_back_free_memory() -> None:
    """After something large was freed in a thread: glibc would keep it for that thread. Elsewhere nothing happens.

    Takes a millisecond or two, without the interpreter lock.
    """
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)


_C_LIBRARY = ctypes.CDLL(None)
