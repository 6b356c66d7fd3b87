"""Ports that are measured: what rounds see and how long they take, and how calls to providers end."""

from dataclasses import replace

from activities.ports.ports import Ports
from worker.runtime.provider_calls import counted
from worker.runtime.round_gauges import RoundGauges
from worker.runtime.stage_seconds import StageSeconds


def measured(ports: Ports) -> Ports:
    """Return the ports with metrics; once in a process, whose metrics they are."""
    return replace(
        ports,
        providers={kind: counted(provider) for kind, provider in ports.providers.items()},
        tell_stages=StageSeconds(),
        tell_round=RoundGauges(ports.elapsed),
    )
