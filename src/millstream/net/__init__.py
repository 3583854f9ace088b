"""The asyncio edge: sockets, limits, back-pressure; bytes in, frames out. See README.md."""
