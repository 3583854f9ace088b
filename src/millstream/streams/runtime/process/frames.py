"""The frames of messages between processes of one application. Pure: values to bytes and back.

A frame is a length in four bytes and a pickle. Both ends are of one release and one user, and meet
where only that user may come.
"""

from __future__ import annotations

import pickle
from struct import Struct
from typing import Final

LENGTH: Final = Struct(">I")


def encode(message: object) -> bytes:
    """Returns the frame of a message."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> object:
    """Returns the message of a frame, whose length was taken off."""
    message: object = pickle.loads(body)  # noqa: S301  # the other end is our own process
    return message
