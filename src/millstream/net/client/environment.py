"""The outside world as a client of brokers knows it: time, chance and the network."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.net.network import Network, SystemNetwork
from millstream.runtime import Clock, Random
from millstream.runtime.system import SystemClock, SystemRandom


@dataclass(frozen=True, slots=True)
class Environment:
    """Handed to a client where it shall live in another world than the system's, such as a simulation.

    Waits are the event loop's: `clock` and the loop's time must go at the same pace.
    """

    clock: Clock
    random: Random
    network: Network


def system_environment() -> Environment:
    """Returns the system's clock, randomness and network."""
    return Environment(SystemClock(), SystemRandom(), SystemNetwork())
