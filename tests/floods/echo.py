"""A server that gives back what it is sent: `python -m tests.floods.echo` prints its port, and ends with its input.

It does next to nothing, so what a client waits for its answer beside a flood is the machine's share of what everybody waits.
"""

from __future__ import annotations

import socket
import sys
import threading


def _serve(listening: socket.socket) -> None:
    while True:
        connected, _ = listening.accept()
        threading.Thread(target=_give_back, args=(connected,), daemon=True).start()


def _give_back(connected: socket.socket) -> None:
    with connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := connected.recv(4096):
            connected.sendall(data)


def _main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        print(f"127.0.0.1:{listening.getsockname()[1]}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _main()
