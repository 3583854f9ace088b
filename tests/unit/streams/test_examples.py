"""The applications in examples/streams do what they say."""

from __future__ import annotations

from examples.streams import enriched_orders, fraud_detection, visits
from examples.streams.enriched_orders import ORDER, Order
from millstream.streams.serdes import double, string
from millstream.testing import TopologyTestDriver

MINUTE_MS = 60_000


def test_orders_are_enriched_when_the_customer_is_known_and_payments_summed_by_minute() -> None:
    with TopologyTestDriver(enriched_orders.topology()) as driver:
        orders = driver.input_topic("orders", key=string(), value=ORDER)
        orders.pipe("1", Order("c1", 500), at=1)
        driver.input_topic("customers", key=string(), value=string()).pipe("c1", "Ann", at=2)
        enriched = driver.output_topic("enriched-orders", key=string(), value=ORDER)
        assert enriched.read_values() == [Order("c1", 500), Order("c1", 500, "Ann")]
        payments = driver.input_topic("payments", key=string(), value=ORDER)
        for cents, at in ((500, 0), (250, 30_000), (1, 80_000)):
            payments.pipe("p", Order("c1", cents), at=at)
        paid = driver.output_topic("paid-per-minute", key=string(), value=string())
        assert paid.read_values() == ["c1, minute 0: 7.50"]


def test_payments_are_held_against_the_limit_of_their_own_time() -> None:
    with TopologyTestDriver(fraud_detection.topology()) as driver:
        limits = driver.input_topic("limits", key=string(), value=double())
        payments = driver.input_topic("payments", key=string(), value=double())
        limits.pipe("ann", 100.0, at=10)
        limits.pipe("ann", 10.0, at=1_000)
        payments.pipe("ann", 50.0, at=500)
        payments.pipe("ann", 50.0, at=1_500)
        payments.pipe("ann", 1.0, at=MINUTE_MS + 1_000)
        alerts = driver.output_topic("alerts", key=string(), value=string())
        assert alerts.read_key_values() == [("ann", "1, last at 1500")]


def test_a_visit_comes_out_when_it_is_over_and_what_cannot_be_read_is_kept() -> None:
    with TopologyTestDriver(visits.topology(), visits.CONFIG) as driver:
        clicks = driver.input_topic("clicks", key=string(), value=visits.CLICK)
        clicks.pipe("ann", visits.Click("/", 3), at=0)
        clicks.pipe("ann", visits.Click("/health", 1), at=1)
        clicks.pipe("ann", visits.Click("/tea", 5), at=5 * MINUTE_MS)
        driver.pipe_bytes("clicks", b"ann", b"?", timestamp=6 * MINUTE_MS)
        clicks.pipe("bob", visits.Click("/", 3), at=60 * MINUTE_MS)
        found = driver.output_topic("visits", key=string(), value=string())
        assert found.read_key_values() == [("ann", "/ /tea")]
        assert [dead.value for dead in driver.read_bytes("clicks-dead")] == [b"?"]
