"""Client metrics subscriptions take what Kafka 4.3.1 takes, as seen there."""

from __future__ import annotations

import pytest

from millstream.errors import ConfigError, InvalidConfig
from millstream.metadata.client_metrics_config import client_metrics_subscription


@pytest.mark.parametrize("metrics", ["a,,b", "a,", ","])
def test_no_prefix_among_others_is_empty(metrics: str) -> None:
    """Every name begins with it: a comma too many would ask for all metrics."""
    with pytest.raises((ConfigError, InvalidConfig)):
        client_metrics_subscription({"metrics": metrics})


@pytest.mark.parametrize("match", ["client_id", "client_id=", "client_id=a=b", "client_id==a", "=a", "x=a", "client_id=a,"])  # fmt: skip
def test_a_pattern_is_one_of_a_selector(match: str) -> None:
    with pytest.raises((ConfigError, InvalidConfig)):
        client_metrics_subscription({"match": match})


@pytest.mark.parametrize(("match", "pattern"), [("client_id=a", "a"), ("client_id=a=", "a"), (" client_id = a ", "a")])  # fmt: skip
def test_what_is_empty_behind_a_pattern_is_left_out(match: str, pattern: str) -> None:
    assert client_metrics_subscription({"match": match}).patterns == {"client_id": pattern}
