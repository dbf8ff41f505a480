"""Optional OpenTelemetry: a span and counts for every decision, made of its audit record.

Needs the extra `otel`; where to and how it is sent is up to OpenTelemetry's own environment variables. Spans
hold names, verdicts and rules; never arguments, values or reasons. What goes wrong here never reaches a call.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Self

import anyio
from anyio import to_thread

from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResultRecord
from ironcurtain.system.extras import missing_extra

_NAME = "ironcurtain"
_MODULES = (
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.trace.export",
    "opentelemetry.sdk.metrics",
    "opentelemetry.sdk.metrics.export",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
)
_NANOSECONDS = 1_000_000_000
_PER_MILLISECOND = 1_000_000
_LAST_SPANS = 3.0
_log = logging.getLogger(__name__)


class Telemetry:
    """Makes spans and metrics of audit records.

    Args:
        tracers: An OpenTelemetry TracerProvider.
        meters: An OpenTelemetry MeterProvider.
    """

    def __init__(self, tracers: Any, meters: Any) -> None:  # noqa: ANN401 - types of an optional library
        self._providers = (tracers, meters)
        self._tracer, meter = tracers.get_tracer(_NAME), meters.get_meter(_NAME)
        self._decisions = meter.create_counter(
            "ironcurtain.decisions", unit="{call}", description="Decided calls."
        )
        self._approvals = meter.create_counter(
            "ironcurtain.approvals", unit="{call}", description="Calls about which a person was asked."
        )
        self._phases = meter.create_histogram(
            "ironcurtain.phase.duration", unit="ms", description="How long each phase of a decision took."
        )
        self._results = meter.create_histogram(
            "ironcurtain.call.duration", unit="ms", description="How long forwarded calls took."
        )

    @classmethod
    def configured(cls) -> Self:
        """Return telemetry that is sent by OTLP over HTTP, as OpenTelemetry's environment variables say.

        The providers are ours alone: no other library's spans, which could hold arguments, come with it.

        Raises:
            ExtraMissingError: If the extra `otel` is not installed.
        """
        try:
            trace, spans, metrics, readings, *exporters = map(importlib.import_module, _MODULES)
        except ModuleNotFoundError as error:
            raise missing_extra(error) or error from error
        tracers = trace.TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(spans.BatchSpanProcessor(exporters[0].OTLPSpanExporter()))
        reader = readings.PeriodicExportingMetricReader(exporters[1].OTLPMetricExporter())
        return cls(tracers, metrics.MeterProvider([reader], shutdown_on_exit=False))

    def close(self) -> None:
        """Send what is waiting; takes as long as the exporters' time limits at most."""
        for provider in self._providers:
            with _harmless():
                provider.shutdown()

    def decision(self, record: DecisionRecord) -> None:
        """Tell of a decision."""
        with _harmless():
            self._decision(record)

    def _decision(self, record: DecisionRecord) -> None:
        labels = {
            "ironcurtain.server": record.server,
            "ironcurtain.tool": record.tool,
            "ironcurtain.verdict": record.verdict.value,
            "ironcurtain.rule": record.rule,
        }
        self._decisions.add(1, labels)
        for phase, taken in record.phases.items():
            self._phases.record(taken, {"ironcurtain.phase": phase})
        if record.approval is not None:
            self._approvals.add(1, {"ironcurtain.approval": record.approval.state})
        end = int(datetime.fromisoformat(record.time).timestamp() * _NANOSECONDS)
        start = end - int(sum(record.phases.values()) * _PER_MILLISECOND)
        span = self._tracer.start_span(
            "decide",
            start_time=start,
            attributes={
                **labels,
                "ironcurtain.decision": record.id,
                "ironcurtain.clause": record.clause or "",
                "ironcurtain.revision": record.revision,
                "ironcurtain.forwarded": record.forwarded,
            },
        )
        span.end(end_time=end)

    def result(self, record: ResultRecord) -> None:
        """Tell of the end of a forwarded call."""
        with _harmless():
            self._results.record(record.duration, {"ironcurtain.status": record.status})


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever a library does, calls go on as they were decided
        _log.error("telemetry failed: %s", type(error).__name__)


@asynccontextmanager
async def telemetry_of_environment() -> AsyncIterator[Telemetry]:
    """Yield the telemetry that is configured; what it has not sent yet is sent at the end, for a moment."""
    telemetry = await to_thread.run_sync(Telemetry.configured)
    try:
        yield telemetry
    finally:
        # A collector that does not answer would keep the client waiting; the thread ends with the process.
        closing = threading.Thread(target=telemetry.close, name="ironcurtain-telemetry", daemon=True)
        closing.start()
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(closing.join, _LAST_SPANS)
