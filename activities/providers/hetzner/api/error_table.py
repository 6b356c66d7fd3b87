"""The project's error for each error of Hetzner's API: the one place that maps them.

Source: Hetzner Cloud API docs, "Errors"; messages as users of other autoscalers have met them.
"""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Literal

from activities.ports.errors import (
    AuthenticationFailed,
    CreateRefused,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    UnknownOutcome,
)
from activities.providers.hetzner.api.refusals import (
    PERHAPS_THE_LOCATION,
    THE_LOCATION,
    THE_TYPE,
    CannotSpread,
    GroupFull,
    Locked,
    NameInUse,
    NamesGone,
    ProjectLocked,
    Protected,
    SubnetFull,
)

Verb = Literal["create", "delete", "read", "write"]
"""Kind of call. `write` is every change of something that exists, but its deletion."""

RATE_LIMITED: Final = frozenset({"rate_limit_exceeded", 429})
"""Codes of a call that was too many: of the API, and of whatever stands before it."""
FEW_TOKENS_SECONDS: Final = 5.0
"""In which a project gets back enough calls to go on with: Hetzner refills one a second."""
_LONGEST_SAID: Final = 300
"""Characters of Hetzner's own words: a message is one line of a condition."""
_UNSUPPORTED_LOCATION: Final = "unsupported location for server type"
_LOCATION_CLOSED: Final = re.compile(r"\blocation\b.*\b(disabled|closed|deactivated|suspended)\b")
"""Said of every type while a location takes no new servers. Source: hetzner-k3s#704, spawn#2764."""
_LOCATION_PERHAPS: Final = re.compile(r"\b(for this location|different location)\b")
"""Said of a location, and met for one line of types alone, too. Source: kube-hetzner#1613, drone/autoscaler#38."""
_NO_ADDRESS: Final = "no subnet or ip available"
"""Source: kube-hetzner#32."""
_OF_TYPE: Final = re.compile(r"\bserver[ _]type\b|\bdisk\b|\barchitecture\b")
"""Said where an image does not fit the type."""
_NAMED: Final = frozenset({"image", "ssh_keys", "firewalls", "networks"})
"""Fields of a create call whose values the class names and the look-up has found."""
_TRIES: Final = 3
_TRIES_OF_LOCKED: Final = 6
"""What is locked by something else is free within a minute."""
_GROUP_LIMIT: Final = "placement_group_member_limit_reached"
_GROUP: Final = "placement group"

_CREDENTIALS: Final = "put a valid API token of the project into the Secret that the class names in spec.tokenSecretRef"
_RIGHTS: Final = (
    "make a token that may read and write, and put it into the Secret that the class names in spec.tokenSecretRef"
)
_QUOTA: Final = "ask Hetzner for a higher limit in its console, or delete what the project does not need"
_SUPPORT: Final = "Hetzner has locked it, and only its support can help: write to support in Hetzner's console"
_SUBNET: Final = "its subnet has no free address: name a larger one, or another network, in the class's spec.networks"
_CLASS: Final = "look at what the class names in its spec"
_GONE: Final = "something that the class names is not in the project any more"
_DEFECT: Final = "is there a newer version of Growth?"
_PROTECTED: Final = "a person has protected it: lift the protection in Hetzner's console if it may go"

_TABLE: Final[dict[str, tuple[type[ProviderError], str]]] = {
    "resource_unavailable": (InsufficientCapacity, ""),
    "ip_not_available": (SubnetFull, _SUBNET),
    "no_subnet_available": (SubnetFull, _SUBNET),
    "placement_error": (CannotSpread, ""),
    _GROUP_LIMIT: (GroupFull, ""),
    "uniqueness_error": (NameInUse, ""),
    "locked": (Locked, ""),
    "resource_locked": (ProjectLocked, _SUPPORT),
    "conflict": (Locked, ""),
    "server_error": (UnknownOutcome, ""),
    "service_error": (UnknownOutcome, ""),
    "unavailable": (UnknownOutcome, ""),
    "bad_gateway": (UnknownOutcome, ""),
    "timeout": (UnknownOutcome, ""),
    "maintenance": (UnknownOutcome, ""),
    "forbidden": (AuthenticationFailed, _RIGHTS),
    "token_readonly": (AuthenticationFailed, _RIGHTS),
    "unauthorized": (AuthenticationFailed, _CREDENTIALS),
    "protected": (Protected, _PROTECTED),
    "invalid_input": (InvalidConfiguration, _CLASS),
    "networks_overlap": (InvalidConfiguration, "name networks in the class's spec.networks that do not overlap"),
    "incompatible_network_type": (InvalidConfiguration, "look at the class's spec.firewalls"),
    "private_net_only_server": (
        InvalidConfiguration,
        "a firewall needs a public address: look at the class's spec.firewalls",
    ),
    "volume_already_attached": (InvalidConfiguration, _CLASS),
    "primary_ip_assigned": (InvalidConfiguration, _CLASS),
    "primary_ip_datacenter_mismatch": (InvalidConfiguration, _CLASS),
    "primary_ip_version_mismatch": (InvalidConfiguration, _CLASS),
    "unsupported_error": (InvalidConfiguration, _CLASS),
    "json_error": (InvalidConfiguration, _DEFECT),
    "deprecated_api_endpoint": (InvalidConfiguration, _DEFECT),
    # These pass by themselves, or are of things that Growth never makes: a look shows how things stand.
    "server_already_attached": (UnknownOutcome, ""),
    "server_not_stopped": (UnknownOutcome, ""),
    "no_space_left_in_location": (UnknownOutcome, ""),
    "resource_in_use": (UnknownOutcome, ""),
    "robot_unavailable": (UnknownOutcome, ""),
    "unknown_error": (UnknownOutcome, ""),
}
"""Codes whose meaning does not depend on the message, each with what a person can do."""
_OF_OWN_MEANING: Final = frozenset({"resource_limit_exceeded", "invalid_server_type", "not_found"})


def _as_it_is(content: Any) -> Any:
    return content


def classify(
    code: str | int,
    message: str,
    *,
    details: Any = None,
    verb: Verb,
    call: str,
    retry_after_seconds: float = FEW_TOKENS_SECONDS,
    status: int | None = None,
    redact: Callable[[Any], Any] = _as_it_is,
) -> GrowthError:
    """Return the error that an answer tells of; its text is one sentence for people.

    Args:
        code: of the API, or the HTTP status where there was no JSON.
        message: Hetzner's words.
        details: of the API: `fields` or `limits`.
        verb: what was being done.
        call: the call in words, such as "create server general-x7 (cx22 in fsn1)".
        retry_after_seconds: how long to wait after a call too many.
        status: of HTTP, if it is known.
        redact: makes of text or JSON what may be told of it. What an answer means is read as it came: a secret that
            holds the word `readonly` must not hide that a token is read-only.
    """
    shown = code if isinstance(code, int) or code in RATE_LIMITED | _TABLE.keys() | _OF_OWN_MEANING else redact(code)
    sentence = _sentence(shown, redact(message), redact(details), call)
    lowered = message.lower()
    match code:
        case _ if code in RATE_LIMITED:
            return RateLimited(sentence, retry_after_seconds)
        case "resource_unavailable" if _LOCATION_CLOSED.search(lowered):
            return InsufficientCapacity(sentence, extent=THE_LOCATION)
        case "resource_unavailable" if _LOCATION_PERHAPS.search(lowered):
            return InsufficientCapacity(sentence, extent=PERHAPS_THE_LOCATION)
        case "resource_limit_exceeded":
            words = f"{redact(message)} {_names(redact(details))}".lower().replace("_", " ").replace("-", " ")
            return QuotaExceeded(f"{sentence}: {_QUOTA}", limits=words)
        case "invalid_server_type":
            return InsufficientCapacity(f"{sentence}: it is no longer sold", lasts=True)
        case "invalid_input" if _UNSUPPORTED_LOCATION in lowered:
            return InsufficientCapacity(sentence, lasts=True)
        case "service_error" if _GROUP_LIMIT in lowered:
            return GroupFull(sentence)
        case "service_error" if _NO_ADDRESS in lowered:
            return SubnetFull(f"{sentence}: {_SUBNET}")
        case "not_found" if verb != "create":
            return NotFound(sentence)
        case "not_found" if _GROUP in lowered.replace("_", " "):
            return GroupFull(f"{sentence}: it was deleted meanwhile")
        case "not_found":
            return NamesGone(f"{sentence}: {_GONE}")
        case "invalid_input" if verb == "create":
            return _invalid(sentence, lowered, _fields(details))
        case "unsupported_error" if verb == "create":
            return InvalidConfiguration(f"{sentence}: {_CLASS}", may_be_of_type=True)
        case _:
            # What is not known is taken for transient: who gives up too early may leave a server behind.
            kind, advice = _TABLE.get(str(code), (UnknownOutcome, ""))
            advised = f"{sentence}: {advice}" if advice else sentence
            if kind in {UnknownOutcome, Locked} and verb == "create" and _is_certain(code, status):
                return CreateRefused(advised, tries=_TRIES_OF_LOCKED if kind is Locked else _TRIES)
            return kind(advised)


def _is_certain(code: str | int, status: int | None) -> bool:
    """Return whether an answer proves that the call had no effect: it is Hetzner's own, and not a gateway's."""
    return (
        isinstance(code, str)
        and status is not None
        and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        and status not in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
    )


def _invalid(sentence: str, lowered: str, fields: frozenset[str]) -> GrowthError:
    """Return what of a create call is invalid: its type, its location, something that the class names, or anything."""
    if "server_type" in fields or _OF_TYPE.search(lowered):
        return InsufficientCapacity(f"{sentence}: it is refused for this type", lasts=True, extent=THE_TYPE)
    if fields == frozenset({"location"}):
        return InsufficientCapacity(sentence, lasts=True, extent=THE_LOCATION)
    if fields & _NAMED:
        return NamesGone(f"{sentence}: {_CLASS}", may_be_of_type=fields == frozenset({"image"}))
    return InvalidConfiguration(f"{sentence}: {_CLASS}", may_be_of_type=not fields)


def of_action(code: str, message: str, *, call: str) -> GrowthError:
    """Return the error that a failed action tells of: its codes are those of a refused call.

    Args:
        code: of the action's error.
        message: of the action's error.
        call: the action in words, such as "start server general-x7".
    """
    return classify(code, message, verb="write", call=call)


def _sentence(code: str | int, message: str, details: Any, call: str) -> str:
    said = " ".join(message.split())[:_LONGEST_SAID].rstrip(".: ")
    named = f" of {names}" if (names := _names(details)) else ""
    shown = f"HTTP status {code}" if isinstance(code, int) else code
    return f'{call}: Hetzner says "{said}"{named} ({shown})' if said else f"{call}: Hetzner says {shown}{named}"


def _fields(details: Any) -> frozenset[str]:
    """Return the names of the fields that the details are about."""
    fields = details.get("fields") if isinstance(details, Mapping) else None
    entries = fields if isinstance(fields, list) else []
    return frozenset(str(entry["name"]) for entry in entries if isinstance(entry, Mapping) and entry.get("name"))


def _names(details: Any) -> str:
    """Return the names of the fields or limits that the details are about."""
    if not isinstance(details, Mapping):
        return ""
    listed = details.get("fields") or details.get("limits")
    entries = listed if isinstance(listed, list) else []
    names = (str(entry["name"]) for entry in entries if isinstance(entry, Mapping) and entry.get("name"))
    return ", ".join(names)[:_LONGEST_SAID]
