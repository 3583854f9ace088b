"""One end of the connection between an application and the process of a stream thread."""

from __future__ import annotations

import asyncio
import socket
from typing import Self

from millstream.streams.runtime.process import LENGTH, decode, encode


class Link:
    """Messages both ways, in order. Made by `open`, in the event loop that uses it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> Self:
        """Takes over one end of a pair of sockets."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def send(self, message: object) -> None:
        """Sends soon, whatever the other end does: what is sent is small. Nothing is sent to an end that is gone."""
        if not self._writer.is_closing():
            self._writer.write(encode(message))

    async def receive(self) -> object | None:
        """Returns the next message, or None once the other end is gone."""
        try:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            return decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        """Sends what is left, and disconnects."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return  # the other end was gone before
