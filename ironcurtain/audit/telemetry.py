"""Optional OpenTelemetry: a span and counts for every decision, made of its audit record.

Needs the extra `otel`, and only what OpenTelemetry's own environment variables configure is sent. Spans hold
names, verdicts and rules; never arguments, values or reasons.
"""

from __future__ import annotations

import importlib
from datetime import datetime
from typing import Any, Self

from ironcurtain.errors import UsageError
from ironcurtain.model.audit import DecisionRecord, ResultRecord

_NAME = "ironcurtain"
_NANOSECONDS = 1_000_000_000
_PER_MILLISECOND = 1_000_000


class Telemetry:
    """Makes spans and metrics of audit records.

    Args:
        tracer: An OpenTelemetry tracer.
        meter: An OpenTelemetry meter.
    """

    def __init__(self, tracer: Any, meter: Any) -> None:  # noqa: ANN401 - types of an optional library
        self._tracer = tracer
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
        """Return the telemetry that OpenTelemetry's environment variables configure.

        Raises:
            UsageError: If the extra `otel` is not installed.
        """
        try:
            trace = importlib.import_module("opentelemetry.trace")
            metrics = importlib.import_module("opentelemetry.metrics")
            configurator = importlib.import_module("opentelemetry.sdk._configuration")
        except ImportError as error:
            raise UsageError(
                "OpenTelemetry is not installed", hint="pip install 'ironcurtain[otel]'"
            ) from error
        configurator._OTelSDKConfigurator().configure()  # noqa: SLF001 - what `opentelemetry-instrument` calls
        return cls(trace.get_tracer(_NAME), metrics.get_meter(_NAME))

    def decision(self, record: DecisionRecord) -> None:
        """Tell of a decision."""
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
        self._results.record(record.duration, {"ironcurtain.status": record.status})
