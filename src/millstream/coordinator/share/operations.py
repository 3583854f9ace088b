"""Every operation on share states by its request."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.context import Operations
from millstream.coordinator.share import persistence, requests
from millstream.coordinator.share.context import ShareContext

OPERATIONS: Final[Operations[ShareContext]] = MappingProxyType(
    {
        requests.InitializeState: persistence.initialize_state,
        requests.ReadState: persistence.read_state,
        requests.ReadStateSummary: persistence.read_state_summary,
        requests.WriteState: persistence.write_state,
        requests.DeleteState: persistence.delete_state,
        requests.FirstNeededOffset: persistence.first_needed_offset,
        requests.TopicIdsDeleted: persistence.forget_topics,
    }
)
