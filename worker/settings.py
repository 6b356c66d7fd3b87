"""Where the worker finds the cluster and Temporal, and where it is found. How Growth behaves is in the objects."""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.facts import DEFAULT_ENDPOINT
from worker.errors import USAGE_ERROR, CommandError

PREFIX: Final = "GROWTH_"
_HIGHEST_PORT: Final = 65535
_SIMILAR: Final = 0.8
"""Above it, a variable of another name is a slip: `GROWTH_CLUSTR`."""
_SERVICE_LINK: Final = re.compile(r"(tcp|udp|sctp)://")
"""Value of the variables that Kubernetes sets for a Service named growth: GROWTH_PORT and others."""


def _matching(pattern: str, rule: str) -> AfterValidator:
    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError(rule)
        return text

    return AfterValidator(check)


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"[^\s:]+", host) or not re.fullmatch(r"\d{1,5}", port) or int(port) > _HIGHEST_PORT:
        raise ValueError(f"must be host:port, such as localhost:7233, with a port up to {_HIGHEST_PORT}")
    return text


Address = Annotated[str, AfterValidator(_address)]
# Each call adds its path to it, so that a query or a slash at its end would break all of them.
Url = Annotated[
    str,
    _matching(
        r"https?://[^\s/?#@]+(/[^\s/?#]+)*",
        "must be a URL such as https://api.hetzner.cloud/v1, without a slash at its end",
    ),
]
DnsLabel = Annotated[
    str, _matching(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "must be at most 63 lower-case letters, digits and hyphens")
]
PodName = Annotated[str, _matching(r"[^/\s]+/[^/\s]+", "each pod must be namespace/name")]
Port = Annotated[int, Field(ge=0, le=_HIGHEST_PORT)]


class Settings(BaseSettings):
    """Read from the environment, prefix `GROWTH_`. Where traces and metrics go is OpenTelemetry's own variable."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    cluster: DnsLabel = "default"
    """Name of this cluster: in workflow ids, server labels and the task queue."""
    namespace: DnsLabel = "growth-system"
    """Kubernetes namespace of Growth's own objects."""
    own_pods: Annotated[frozenset[PodName], NoDecode] = frozenset()
    """Pods of the worker and of its Temporal, as namespace/name with commas between: their nodes are never removed."""
    simulated_machines: bool = False
    """Use node classes of simulated machines, as KWOK's, on a cluster with real Nodes, too."""
    kubeconfig: Path | None = None
    """Without one: as kubectl finds it; in a pod without any, its service account."""
    context: str | None = None
    """Context in the kubeconfig; without one the current context."""

    temporal_address: Address = "localhost:7233"
    temporal_namespace: str = Field(default="growth", min_length=1, max_length=255)
    temporal_tls: bool | None = None
    """Without a word, TLS is used with an API key and not otherwise."""
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

    hcloud_endpoint: Url = DEFAULT_ENDPOINT
    """Where the Hetzner Cloud API is: a proxy, or a server for tests."""

    http_address: Address = "127.0.0.1:8080"
    """Where /healthz, /readyz and /metrics are served; port 0 takes a free one."""
    log_format: Literal["auto", "console", "json"] = "auto"
    """auto: console on a terminal, JSON otherwise."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def uses_tls(self) -> bool:
        """Whether the connection to Temporal uses TLS: an API key must not cross a network in the clear."""
        return self.temporal_api_key is not None if self.temporal_tls is None else self.temporal_tls

    @property
    def endpoints(self) -> dict[str, str]:
        """Where the APIs of clouds are, by kind of node class."""
        return {HETZNER_NODE_CLASSES.kind: self.hcloud_endpoint}

    @field_validator("own_pods", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_tls(self) -> Self:
        """Refuse files that would not be used: the connection would be less safe than whoever named them thinks."""
        files = {"ca": self.temporal_tls_ca, "cert": self.temporal_tls_cert, "key": self.temporal_tls_key}
        named = [f"GROWTH_TEMPORAL_TLS_{name.upper()}" for name, file in files.items() if file is not None]
        if named and not self.uses_tls:
            raise ValueError(f"{named[0]} is used with GROWTH_TEMPORAL_TLS=true only")
        if (self.temporal_tls_cert is None) != (self.temporal_tls_key is None):
            raise ValueError("GROWTH_TEMPORAL_TLS_CERT and GROWTH_TEMPORAL_TLS_KEY go together")
        return self


def load(**given: Any) -> Settings:
    """Return the settings: `given`, and the environment for the rest.

    Raises:
        CommandError: a value is wrong, or a variable looks like a setting's but is none; one line for each.
    """
    slips = _slips(os.environ)
    if slips:
        raise CommandError("\n".join(slips), USAGE_ERROR)
    try:
        return Settings(**given)
    except ValidationError as error:
        lines = [_line(one, given) for one in error.errors(include_url=False)]
        raise CommandError("\n".join(lines), USAGE_ERROR) from error


def _slips(environment: Mapping[str, str]) -> list[str]:
    """Return a line for each variable whose name is nearly that of a setting: it would have no effect."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    lines = []
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX) or variable.upper() in known or _SERVICE_LINK.match(value):
            continue
        bare = {name.removeprefix(PREFIX): name for name in known}
        alike = difflib.get_close_matches(variable.removeprefix(PREFIX), bare, n=1, cutoff=_SIMILAR)
        if alike:
            lines.append(f"{variable} is no setting: did you mean {bare[alike[0]]}?")
    return lines


def _line(fault: ErrorDetails, given: Mapping[str, object]) -> str:
    """Return one wrong value as its author wrote it: an option or a variable."""
    rule = _rule(fault)
    if not fault["loc"]:
        return rule
    name = str(fault["loc"][0])
    written = f"--{name.replace('_', '-')}" if name in given else f"{PREFIX}{name.upper()}"
    return f"{written}: {rule}, not {fault['input']!r}"


def _rule(fault: ErrorDetails) -> str:
    context = fault.get("ctx", {})
    match fault["type"]:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be {context['expected']}"
        case "bool_parsing" | "bool_type":
            return "must be true or false"
        case "int_parsing" | "int_type":
            return "must be a whole number"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case _:
            return fault["msg"][:1].lower() + fault["msg"][1:]


def task_queue(cluster: str) -> str:
    """Return the task queue of a cluster: its activities run only where that cluster is watched."""
    return f"growth-{cluster}"
