"""For your tests: brokers and clusters in and out of process, a proxy that injects faults, a checker of histories, the
topology test driver and pictures of what it does.

Names are loaded when they are used, because pytest imports this package at every start.
"""

from typing import TYPE_CHECKING

from millstream.runtime.lazy import names_of

if TYPE_CHECKING:
    from millstream.testing.broker import Broker
    from millstream.testing.cluster import Cluster, NodeStateError
    from millstream.testing.faults.plan import (
        AnswerWith,
        CloseAfter,
        CloseBefore,
        Corrupt,
        Delay,
        DropRequest,
        DropResponse,
        Rule,
        SendLate,
        Trickle,
    )
    from millstream.testing.faults.proxy import FaultProxy
    from millstream.testing.history import History
    from millstream.testing.secure_cluster import SecureCluster
    from millstream.testing.streams.mock_processor_context import (
        CapturedForward,
        CapturedPunctuator,
        MockProcessorContext,
    )
    from millstream.testing.streams.timeline.run import timeline
    from millstream.testing.streams.topology_test_driver import TopologyTestDriver
    from millstream.testing.streams.topology_test_topics import (
        TestInputTopic,
        TestOutputTopic,
        TestRecord,
    )
else:
    __getattr__ = names_of(
        __name__,
        {
            "millstream.testing.broker": "Broker",
            "millstream.testing.cluster": "Cluster NodeStateError",
            "millstream.testing.faults.plan": "AnswerWith CloseAfter CloseBefore Corrupt Delay DropRequest DropResponse Rule SendLate Trickle",
            "millstream.testing.faults.proxy": "FaultProxy",
            "millstream.testing.history": "History",
            "millstream.testing.secure_cluster": "SecureCluster",
            "millstream.testing.streams.mock_processor_context": "CapturedForward CapturedPunctuator MockProcessorContext",
            "millstream.testing.streams.timeline.run": "timeline",
            "millstream.testing.streams.topology_test_driver": "TopologyTestDriver",
            "millstream.testing.streams.topology_test_topics": "TestInputTopic TestOutputTopic TestRecord",
        },
    )

__all__ = [
    "AnswerWith",
    "Broker",
    "CapturedForward",
    "CapturedPunctuator",
    "CloseAfter",
    "CloseBefore",
    "Cluster",
    "Corrupt",
    "Delay",
    "DropRequest",
    "DropResponse",
    "FaultProxy",
    "History",
    "MockProcessorContext",
    "NodeStateError",
    "Rule",
    "SecureCluster",
    "SendLate",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TopologyTestDriver",
    "Trickle",
    "timeline",
]
