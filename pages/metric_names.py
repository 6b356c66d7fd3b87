"""The metrics of Escalator and of VPSie's autoscaler beside those of Growth that say the same, for docs/metrics.md.

Source: Escalator, `pkg/metrics/metrics.go` and its document on metrics; VPSie, `docs/` on scaling, and its metrics.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PeerMetric:
    """Metrics of another autoscaler, without their prefix."""

    names: tuple[str, ...]
    here: str = ""
    """The metric that says the same, as a query may have it; empty where there is none."""
    note: str = ""
    """What differs, or why there is none."""


ESCALATOR: Final = (
    PeerMetric(("run_count",), "growth_rounds_total", "rounds come by changes, not each minute"),
    PeerMetric(("node_group_nodes",), "sum by (pool) (growth_pool_nodes)"),
    PeerMetric(("node_group_untainted_nodes",), 'growth_pool_nodes{state="untainted"}', "without those not Ready"),
    PeerMetric(("node_group_tainted_nodes",), 'growth_pool_nodes{state="tainted"}'),
    PeerMetric(("node_group_force_tainted_nodes",), 'growth_pool_nodes{state="forced"}'),
    PeerMetric(("node_group_cordoned_nodes",), 'growth_pool_nodes{state="cordoned"}'),
    PeerMetric(("node_group_unhealthy_nodes",), 'growth_pool_nodes{state="unhealthy"}', "there 1 where all is well"),
    PeerMetric(("node_group_pods",), "", "decisions go by what pods request; kube-state-metrics counts pods"),
    PeerMetric(("node_group_pods_evicted",), "", "events and `growth why removal` name them; `growth_drain_seconds`"),
    PeerMetric(
        ("node_group_cpu_percent", "node_group_mem_percent"),
        "100 * growth_pool_utilisation",
        "nothing, and not 0, where there is no capacity",
    ),
    PeerMetric(("node_group_cpu_request", "node_group_mem_request"), "growth_pool_requests", "cores and bytes"),
    PeerMetric(("node_group_cpu_capacity", "node_group_mem_capacity"), "growth_pool_capacity", "cores and bytes"),
    PeerMetric(
        (
            "node_group_cpu_largest_pending_cpu",
            "node_group_cpu_largest_pending_mem",
            "node_group_mem_largest_pending_cpu",
            "node_group_mem_largest_pending_mem",
        ),
        "growth_largest_pending",
        "of each resource on its own",
    ),
    PeerMetric(
        (
            "node_group_cpu_largest_available_cpu",
            "node_group_cpu_largest_available_mem",
            "node_group_mem_largest_available_cpu",
            "node_group_mem_largest_available_mem",
        ),
        "growth_largest_free",
        "of each resource on its own",
    ),
    PeerMetric(("node_group_taint_event",), 'growth_decisions_total{decision="shrink"}'),
    PeerMetric(("node_group_untaint_event",), 'growth_removals_total{outcome="Cancelled"}'),
    PeerMetric(("node_group_scale_lock",), "growth_lock_closed"),
    PeerMetric(("node_group_scale_lock_duration",), "growth_lock_seconds", "by what opened it, not by pool"),
    PeerMetric(
        ("node_group_scale_lock_check_was_locked",),
        "",
        "rounds come by changes, so their number says nothing: `avg_over_time(growth_lock_closed[1h])`",
    ),
    PeerMetric(("node_group_scale_delta",), "growth_scale_delta"),
    PeerMetric(("node_group_node_registration_lag",), 'growth_machine_start_seconds{until="registered"}'),
    PeerMetric(("cloud_provider_min_size", "cloud_provider_max_size"), "growth_pool_limits"),
    PeerMetric(("cloud_provider_target_size",), "", "each machine has a request of its own, and no pool has a target"),
    PeerMetric(("cloud_provider_size",), "growth_machines", "Nodes that are not Ready: `growth_pool_nodes`"),
    PeerMetric(("node_delete_errors",), 'growth_removals_total{outcome="CouldNotRemove"}', "parked, after its calls"),
)
VPSIE: Final = (
    PeerMetric(("scaling_decisions_total",), "growth_decisions_total", "there never counted"),
    PeerMetric(("scale_up_total",), 'growth_decisions_total{decision="grow"}', "machines"),
    PeerMetric(("scale_down_total",), 'growth_decisions_total{decision="shrink"}', "machines"),
    PeerMetric(
        ("scale_down_blocked_total", "safety_check_failures_total"),
        "growth_blocked_machines",
        "how many are blocked now: a counter would count one machine in each round",
    ),
    PeerMetric(("node_provisioning_duration_seconds",), 'growth_machine_start_seconds{until="ready"}'),
    PeerMetric(("node_drain_duration_seconds",), "growth_drain_seconds"),
    PeerMetric(("nodegroup_current_nodes",), "sum by (pool) (growth_pool_nodes)"),
    PeerMetric(("nodegroup_ready_nodes",), 'growth_machines{phase="ready"}'),
    PeerMetric(("nodegroup_desired_nodes",), "", "each machine has a request of its own, and no pool has a target"),
    PeerMetric(("nodegroup_min_nodes", "nodegroup_max_nodes"), "growth_pool_limits"),
    PeerMetric(("vpsienode_phase",), "growth_machines"),
    PeerMetric(("vpsienode_ttl_deletions_total",), 'growth_requests_total{outcome="Failed"}'),
    PeerMetric(("scale_up_decisions_total",), "growth_decisions_total", "what is skipped is told on the pods"),
    PeerMetric(("controller_reconcile_*",), "growth_planning_seconds", "lifecycles: `temporal_…`"),
    PeerMetric(("vpsie_api_*",), "growth_provider_calls_total"),
)


def names_table(peers: tuple[PeerMetric, ...]) -> str:
    """Return the rows as a table of Markdown, old name to new one."""
    return "\n".join(("| there | here | |", "|---|---|---|", *map(_row, peers)))


def _row(peer: PeerMetric) -> str:
    names = ", ".join(f"`{name}`" for name in peer.names)
    return f"| {names} | {f'`{peer.here}`' if peer.here else 'none'} | {peer.note} |"
