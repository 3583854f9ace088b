"""ApiVersions, and what a broker does with versions and frames it does not serve."""

from __future__ import annotations

import struct

from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions


@case("ApiVersions")
def api_versions(s: Session) -> None:
    for version in versions("ApiVersions"):
        s.ask("ApiVersions", version, client_software_name="oracle", client_software_version="1.0")


@case("ApiVersions")
def api_versions_of_odd_software(s: Session) -> None:
    for name, version in (
        ("", "1"),
        ("oracle", ""),
        ("or acle", "1"),
        ("oracle", "1_0"),
        ("-o", "1"),
        ("o.r-a", "1.0-b"),
    ):
        s.ask(
            "ApiVersions",
            3,
            f"{name!r} {version!r}",
            client_software_name=name,
            client_software_version=version,
        )


@case("ApiVersions")
def unserved_versions(s: Session) -> None:
    for key, version in (
        (18, 5),
        (18, 32767),
        (18, -1),
        (3, 14),
        (3, -1),
        (0, 2),
        (1, 3),
        (999, 0),
        (-1, 0),
        (4, 0),
        (7, 3),
        (22, 6),
        (52, 0),
        (62, 0),
        (67, 0),
    ):
        s.raw(struct.pack(">ihhih", 10, key, version, 9, -1), f"key {key} version {version}")


@case("ApiVersions")
def broken_frames(s: Session) -> None:
    for note, frame in (
        ("length 0", struct.pack(">i", 0)),
        ("length -1", struct.pack(">i", -1)),
        ("length 1", struct.pack(">ib", 1, 0)),
        ("half a header", struct.pack(">ihh", 4, 18, 0)),
        ("length 2^31-1", struct.pack(">i", 2**31 - 1)),
        ("longer than allowed", struct.pack(">i", 104857601)),
        ("http", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        ("no body", struct.pack(">ihhih", 10, 3, 1, 9, -1)),
        ("trailing bytes", struct.pack(">ihhih", 13, 18, 0, 9, -1) + b"abc"),
        ("null client id", struct.pack(">ihhih", 10, 18, 0, 9, -1)),
        ("client id too long", struct.pack(">ihhih", 10, 18, 0, 9, 32767)),
    ):
        s.raw(frame, note)


@case("DescribeCluster")
def describe_cluster(s: Session) -> None:
    for version in versions("DescribeCluster"):
        s.ask("DescribeCluster", version)
        s.ask(
            "DescribeCluster",
            version,
            "with operations",
            include_cluster_authorized_operations=True,
        )
        s.ask("DescribeCluster", version, "of controllers", endpoint_type=2)
        s.ask("DescribeCluster", version, "of endpoint type 3", endpoint_type=3)
        s.ask("DescribeCluster", version, "with fenced brokers", include_fenced_brokers=True)
