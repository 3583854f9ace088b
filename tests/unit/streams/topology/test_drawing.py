"""The picture of a topology: everything is in it, nothing lies over anything else, and it is the same each time."""

from __future__ import annotations

import gzip
import json
import sys
from datetime import timedelta
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from millstream.streams import Materialized, StreamsBuilder, TimeWindows, Topology
from millstream.streams.topology.drawing.boxes import STORE_GAP, STORE_HEIGHT, scene_of
from millstream.streams.topology.drawing.layers import lay_out

ORACLE = Path(__file__).parents[3] / "oracle"
SPACE = "{http://www.w3.org/2000/svg}"


def orders() -> Topology:
    """56 nodes in ten groups: joins, branches, stores, five repartition topics."""
    builder = StreamsBuilder()
    customers = builder.table("customers", materialized=Materialized("customers-store"))
    builder.global_table("rates", materialized=Materialized("rates-store"))
    enriched = (
        builder.stream("orders").select_key(lambda _, v: v).join(customers, lambda left, _: left)
    )
    enriched.filter(lambda _key, _value: True).to("all-orders")
    builder.stream(pattern="<all> & orders").to("others")
    windows = TimeWindows.tumbling(timedelta(minutes=5))
    for number in range(6):
        grouped = enriched.select_key(lambda _, v: v).group_by_key()
        counts = grouped.windowed_by(windows).count(materialized=Materialized(f"counts-{number}"))
        counts.to_stream().to(f"out-{number}")
    return builder.build()


def recorded() -> list[Topology]:
    """The topologies of all recorded cases that can be built."""
    sys.path.insert(0, str(ORACLE))
    from streams.case_runner import settings
    from streams.spec_topology import SpecTopology

    topologies = []
    for spec in json.loads(gzip.decompress((ORACLE / "streams/specs.json.gz").read_bytes())):
        if spec.get("api") == "topology":
            continue
        try:
            builder = StreamsBuilder(**settings(spec)[1])
            SpecTopology(builder, lambda *_: None).run(spec["ops"])
            topologies.append(builder.build())
        except Exception:  # noqa: BLE001  # a specification that is refused
            continue
    return topologies


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SPACE}text")]


def test_every_topic_node_and_store_is_named() -> None:
    topology = orders()
    shown = texts(topology.to_svg())
    full = [title.text for title in ET.fromstring(topology.to_svg()).iter(f"{SPACE}title")]
    assert "<all> & orders" in shown
    assert "customers-store" in shown
    assert "Sub-topology 0" in shown
    for name in topology.nodes:
        assert any(title is not None and title.endswith(name) for title in full)


def test_a_sink_is_linked_to_the_source_of_its_topic() -> None:
    scene = scene_of(orders())
    assert ("counts-0-repartition-sink", "counts-0-repartition-source") in scene.links
    links = ET.fromstring(orders().to_svg()).findall(f"./{SPACE}path[@class='link']")
    assert len(links) == len(scene.links) == 7


def test_the_same_topology_gives_the_same_picture() -> None:
    assert orders().to_svg() == orders().to_svg()


@pytest.mark.parametrize("topologies", [lambda: [orders()], recorded], ids=["orders", "recorded"])
def test_no_box_lies_over_another_and_arrows_go_forward(topologies) -> None:
    found = topologies()
    assert found
    for topology in found:
        for group in scene_of(topology).groups:
            layout = lay_out(group)
            boxes = {box.name: box for box in group.boxes}
            for one, other in combinations(layout.places, 2):
                a, b = layout.places[one], layout.places[other]
                beside = a.x + a.width <= b.x or b.x + b.width <= a.x
                above = (
                    a.y + boxes[one].height <= b.y + 0.01 or b.y + boxes[other].height <= a.y + 0.01
                )
                assert beside or above, (one, other)
            for points in layout.arrows:
                assert all(left[0] <= right[0] for left, right in pairwise(points))
            for place in layout.places.values():
                assert place.x >= 0
                assert place.x + place.width <= layout.width + 0.01


def test_links_between_groups_leave_from_the_last_column() -> None:
    """To the right of such a sink there is nothing that its link could cross."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.repartition(name="early").to("out")
    for step in range(3):
        stream = stream.filter(lambda _key, _value: True, name=f"step-{step}")
    stream.to("late")
    linked = 0
    for topology in (builder.build(), orders()):
        scene = scene_of(topology)
        for group in scene.groups:
            places = lay_out(group).places
            sinks = {sink for sink, _ in scene.links} & places.keys()
            linked += len(sinks)
            for sink in sinks:
                beyond = [p for p in places.values() if p.x > places[sink].x + places[sink].width]
                assert not beyond
    assert linked >= 2


def test_stores_make_room_below_their_node() -> None:
    (group, *_) = [g for g in scene_of(orders()).groups if any(b.stores for b in g.boxes)]
    box = next(box for box in group.boxes if box.stores)
    assert box.height == box.body_height + len(box.stores) * (STORE_HEIGHT + STORE_GAP)


def test_long_names_are_shortened_in_the_middle() -> None:
    builder = StreamsBuilder()
    topic = "a-topic-with-a-name-that-nobody-can-read-aloud-in-one-breath-42"
    builder.stream(topic)
    shown = [text for text in texts(builder.build().to_svg()) if "…" in text]
    assert shown == [f"{topic[:23]}…{topic[-14:]}"]


def test_a_join_with_a_global_table_names_the_store_it_reads() -> None:
    builder = StreamsBuilder()
    rates = builder.global_table("rates", materialized=Materialized("rates-store"))
    builder.stream("in").join(rates, lambda left, right: left, on=lambda key, value: key)
    assert "reads rates-store" in texts(builder.build().to_svg())


def test_what_hands_on_is_a_branch_or_a_merge() -> None:
    builder = StreamsBuilder()
    branches = builder.stream("in").split(name="by-").branch(lambda key, value: True, name="one")
    found = branches.default_branch(name="other")
    found["by-one"].merge(found["by-other"]).to("out")
    shown = texts(builder.build().to_svg())
    assert [text for text in shown if text in {"branch", "merge"}].count("merge") == 1
    assert "pass through" not in shown


def test_colours_are_plain_and_the_legend_says_what_they_mean() -> None:
    """Programs other than browsers know no CSS variables, and drew black boxes."""
    svg = orders().to_svg()
    assert "var(" not in svg
    assert "@media (prefers-color-scheme: dark)" in svg
    assert {"topic, read or written", "state store", "uses the same store"} <= set(texts(svg))
