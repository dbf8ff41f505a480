from __future__ import annotations

import pytest
from support.records.audited import decided, ended

from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.enforcement.proxy.status.telemetry import Telemetry
from ironcurtain.model.verdict import Verdict

metrics = pytest.importorskip("opentelemetry.sdk.metrics")
metric_export = pytest.importorskip("opentelemetry.sdk.metrics.export")
trace = pytest.importorskip("opentelemetry.sdk.trace")
trace_export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


def test_spans_and_metrics_hold_names_and_verdicts_only() -> None:
    spans, reader = memory.InMemorySpanExporter(), metric_export.InMemoryMetricReader()
    provider, meters = trace.TracerProvider(), metrics.MeterProvider([reader])
    provider.add_span_processor(trace_export.SimpleSpanProcessor(spans))
    telemetry = Telemetry(provider, meters)
    telemetry.decision(decided(1))
    telemetry.decision(decided(2, approval=Approval(state="expired", verdict=Verdict.DENY)))
    telemetry.result(ended(1, duration=2.0))
    first, _ = spans.get_finished_spans()
    assert first.name == "decide"
    assert first.end_time - first.start_time == 500_000
    assert first.attributes["ironcurtain.verdict"] == "allow"
    data = reader.get_metrics_data()
    names = {
        metric.name
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert names == {
        "ironcurtain.decisions",
        "ironcurtain.approvals",
        "ironcurtain.phase.duration",
        "ironcurtain.call.duration",
    }
    shown = f"{[dict(span.attributes) for span in spans.get_finished_spans()]}{data.to_json()}"
    assert "/home/user" not in shown
    assert "may be read" not in shown
    telemetry.close()
