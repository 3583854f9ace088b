"""What our clients push is read by the classes of Kafka's own client: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from millstream.clients.telemetry.core.otlp import DataPoint, metrics_data
from tests.patience import LONG_ENOUGH_S

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
TEMPORALITY = "AGGREGATION_TEMPORALITY"
READER = """
import java.nio.file.*;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.*;

public class Reader {
    public static void main(String[] args) throws Exception {
        MetricsData data = MetricsData.parseFrom(Files.readAllBytes(Path.of(args[0])));
        for (ResourceMetrics resource : data.getResourceMetricsList()) {
            resource.getResource().getAttributesList().forEach(a ->
                System.out.println("resource " + a.getKey() + "=" + a.getValue().getStringValue()));
            for (Metric m : resource.getScopeMetrics(0).getMetricsList()) {
                boolean sum = m.hasSum();
                NumberDataPoint p = sum ? m.getSum().getDataPoints(0) : m.getGauge().getDataPoints(0);
                StringBuilder line = new StringBuilder(m.getName());
                line.append(sum ? " " + m.getSum().getAggregationTemporality() + " " + m.getSum().getIsMonotonic() : " gauge");
                line.append(p.hasAsDouble() ? " double " + p.getAsDouble() : " UNKNOWN");
                line.append(" " + p.getStartTimeUnixNano() + " " + p.getTimeUnixNano());
                p.getAttributesList().forEach(a ->
                    line.append(" " + a.getKey() + "=" + a.getValue().getStringValue()));
                System.out.println(line + (data.getUnknownFields().asMap().isEmpty() ? "" : " UNKNOWN"));
            }
        }
    }
}
"""

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.compat,
    pytest.mark.skipif(
        not CLASSPATH,
        reason="MILLSTREAM_KAFKA_CLASSPATH does not say where the jars of Kafka 4.3 are",
    ),
    pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler"),
]


def test_kafkas_classes_read_what_we_write(tmp_path: Path) -> None:
    points = [
        DataPoint("gauge.of.node", 2.5, 1_700_000_000_123, {"node_id": "node-1"}),
        DataPoint("gauge", -7.0, 1_700_000_000_123),
        DataPoint("sum", 9.0, 1_700_000_000_123, start_ms=1_700_000_000_000),
        DataPoint("delta", 4.0, 1_700_000_000_123, start_ms=1_700_000_000_100, is_delta=True),
    ]
    (tmp_path / "metrics").write_bytes(metrics_data({"group_id": "g", "client_rack": "ü"}, points))
    source = tmp_path / "Reader.java"
    source.write_text(READER)
    done = subprocess.run(
        ["java", "-Dfile.encoding=UTF-8", "-cp", CLASSPATH, str(source), str(tmp_path / "metrics")],
        capture_output=True, timeout=LONG_ENOUGH_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines() == [
        "resource group_id=g",
        "resource client_rack=ü",
        "gauge.of.node gauge double 2.5 0 1700000000123000000 node_id=node-1",
        "gauge gauge double -7.0 0 1700000000123000000",
        f"sum {TEMPORALITY}_CUMULATIVE true double 9.0 1700000000000000000 1700000000123000000",
        f"delta {TEMPORALITY}_DELTA true double 4.0 1700000000100000000 1700000000123000000",
    ]
