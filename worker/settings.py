"""Where the worker finds the cluster and Temporal, and where it is found. How Growth behaves is in the objects."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from worker.command_error import USAGE_ERROR, CommandError

Address = Annotated[str, Field(pattern=r"^[^\s:]+:\d{1,5}$")]
DnsLabel = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
PodName = Annotated[str, Field(pattern=r"^[^/\s]+/[^/\s]+$")]
Port = Annotated[int, Field(ge=0, le=65535)]


class Settings(BaseSettings):
    """Read from the environment, prefix `GROWTH_`. Where traces and metrics go is OpenTelemetry's own variable."""

    model_config = SettingsConfigDict(env_prefix="GROWTH_", frozen=True, extra="forbid")

    cluster: DnsLabel = "default"
    """Name of this cluster: in workflow ids, server labels and the task queue."""
    namespace: DnsLabel = "growth-system"
    """Kubernetes namespace of Growth's own objects."""
    own_pods: Annotated[frozenset[PodName], NoDecode] = frozenset()
    """Pods of the worker and of its Temporal, as namespace/name with commas between: their nodes are never removed."""
    kubeconfig: Path | None = None
    """Without one: in-cluster when there is a service account, else as kubectl finds it."""
    context: str | None = None
    """Context in the kubeconfig; without one the current context."""

    temporal_address: Address = "localhost:7233"
    temporal_namespace: str = Field(default="growth", min_length=1, max_length=255)
    temporal_tls: bool = False
    temporal_tls_ca: Path | None = None
    """PEM file; without one the system's authorities."""
    temporal_tls_cert: Path | None = None
    temporal_tls_key: Path | None = None
    temporal_api_key: SecretStr | None = None

    embedded_temporal: bool = False
    """Run a Temporal server of this worker's own, on loopback only; `temporal_address` is not used then."""
    data_dir: Path = Path("growth-data")
    """Where the embedded server keeps its file."""
    embedded_port: Port = 0
    """Port of the embedded server; 0 takes a free one."""
    embedded_ui_port: Port = 0
    """Port of its web UI; 0 takes a free one."""

    http_address: Address = "127.0.0.1:8080"
    """Where /healthz, /readyz and /metrics are served; port 0 takes a free one."""
    log_format: Literal["auto", "console", "json"] = "auto"
    """auto: console on a terminal, JSON otherwise."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("own_pods", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def load(**given: Any) -> Settings:
    """Return the settings: `given`, and the environment for the rest.

    Raises:
        CommandError: a value is wrong; one line per value.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        lines = []
        for one in error.errors():
            name = ".".join(str(part) for part in one["loc"])
            lines.append(f"{name} (GROWTH_{name.upper()}): {one['msg']}, not {one['input']!r}")
        raise CommandError("\n".join(lines), USAGE_ERROR) from error


def task_queue(cluster: str) -> str:
    """Return the task queue of a cluster: its activities run only where that cluster is watched."""
    return f"growth-{cluster}"
