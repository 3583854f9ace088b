"""An application in words."""

from __future__ import annotations

from millstream.spark.pipeline.explanation import as_html, as_text, explained
from millstream.streams import StreamsBuilder
from millstream.streams.serdes import long, string
from millstream.streams.topology.plan import plan_topology

STORE = "KSTREAM-AGGREGATE-STATE-STORE-0000000002"
TEXT = f"""application app, RUNNING
sub-topology 0
  reads   words
  writes  app-{STORE}-repartition
  tasks   0_0, 0_1
sub-topology 1
  reads   app-{STORE}-repartition
  store   {STORE}, changelog app-{STORE}-changelog
  writes  counts
  tasks   1_0 on host-a_3, 1_1
  standby 1_0 on host-a_4, host-b_1"""


def test_it_says_what_tasks_read_keep_and_write_and_where_they_are() -> None:
    builder = StreamsBuilder()
    words = builder.stream("words", key=string(), value=string())
    counts = words.group_by(lambda _, word: word, key=string(), value=string()).count()
    counts.to_stream().to("counts", value=long())
    topology = builder.build()
    plan = plan_topology(topology, "app", {"words": 2})
    places = {(1, 0): "executor_host-a_3"}
    copies = {(1, 0): ("executor_host-a_4", "executor_host-b_1"), (1, 1): ()}
    parts = explained(topology, "app", plan.sub_topologies, places, copies)
    assert as_text("application app, RUNNING", parts) == TEXT
    page = as_html("application <app>", parts)
    assert "application &lt;app&gt;" in page
    assert page.count("<tr>") == 3
    assert "1_0 on host-a_3, 1_1" in page
