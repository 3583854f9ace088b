"""For your tests: brokers in and out of process, the topology test driver, simulated disks and randomness.

Names are loaded when they are used, because pytest imports this package at every start.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.testing.broker import Broker
    from millstream.testing.topology_test_driver import TopologyTestDriver

__all__ = ["Broker", "TopologyTestDriver"]

_MODULES = {
    "Broker": "millstream.testing.broker",
    "TopologyTestDriver": "millstream.testing.topology_test_driver",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module millstream.testing has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
