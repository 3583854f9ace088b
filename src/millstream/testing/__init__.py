"""For your tests: brokers in and out of process, a proxy that injects faults, a checker of histories, the topology test driver.

Names are loaded when they are used, because pytest imports this package at every start.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.testing.broker import Broker
    from millstream.testing.fault_plan import Rule
    from millstream.testing.fault_proxy import FaultProxy
    from millstream.testing.history import History
    from millstream.testing.topology_test_driver import TopologyTestDriver

__all__ = ["Broker", "FaultProxy", "History", "Rule", "TopologyTestDriver"]

_MODULES = {
    "Broker": "millstream.testing.broker",
    "FaultProxy": "millstream.testing.fault_proxy",
    "History": "millstream.testing.history",
    "Rule": "millstream.testing.fault_plan",
    "TopologyTestDriver": "millstream.testing.topology_test_driver",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module millstream.testing has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
