"""Processes whose one purpose is to run tasks: how they are prepared, and the frames of messages between them.

A frame is a length in four bytes and a pickle. Both ends are of one release and one user, and meet where only that user
may come.
"""

from __future__ import annotations

import asyncio
import gc
import pickle
import resource
from struct import Struct
from typing import Final

LENGTH: Final = Struct(">I")
_COLLECTED_AFTER: Final = (50_000, 20, 100)
"""The rows of a batch are so many objects that Python's own threshold of 700 takes a quarter of the processor time: it
looks at them again and again while they are in use. Hardly any of them is part of a cycle."""


def prepare() -> None:
    """Has the garbage collector look rarely, and never at what is loaded already; allows as many
    open files as the system lets it.

    pyarrow imports pandas, where it is installed, with the first array that it makes: here, not in a thread beside the
    event loop, where that held up the first records for up to half a second. Each open task takes up to HANDLES_MAX,
    and connections; the usual limit of 1024 is for programs that use select().
    """
    import pyarrow as pa  # not by who only sends messages to such a process

    pa.array([0])
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """Returns the class of the fastest event loop that there is; None is asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


def encode(message: object) -> bytes:
    """Returns the frame of a message."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> object:
    """Returns the message of a frame, whose length was taken off."""
    message: object = pickle.loads(body)  # noqa: S301  # the other end is our own process
    return message
