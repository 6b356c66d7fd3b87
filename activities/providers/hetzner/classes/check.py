"""Looks up in the project all that a HetznerNodeClass needs, and says what is wrong with it.

The reason for which a create call would be refused is found before one is made, and is a condition of the class,
which its author reads. A read that fails leaves what was read before: prices that are some minutes
old are better than a cluster that cannot grow.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from activities.ports.cluster import Cluster
from activities.ports.errors import AuthenticationFailed, GrowthError, InvalidConfiguration
from activities.providers.hetzner.classes import user_data
from activities.providers.hetzner.classes.catalogue import (
    UNREACHABLE,
    catalogue_of,
    network_zones,
    offered,
    usable_locations,
)
from activities.providers.hetzner.classes.join_text import Completeness
from activities.providers.hetzner.classes.names import FoundNames, ProjectReader, find_names
from api.meta import READY, Condition, set_condition
from api.v1alpha1.hetzner_node_class import HetznerNodeClass, HetznerNodeClassSpec
from api.v1alpha1.hetzner_node_class_status import HetznerNodeClassStatus

CATALOGUE_READ: Final = "CatalogueRead"
IMAGES: Final = "Images"
SSH_KEYS: Final = "SSHKeys"
USER_DATA_COMPLETE: Final = "UserDataComplete"
OWN_CONDITIONS: Final = (READY, CATALOGUE_READ, IMAGES, SSH_KEYS, USER_DATA_COMPLETE)
"""Types of the conditions that are set here."""
_Fault = tuple[str, str]
"""Reason and message of a condition that is False."""
_Verdict = tuple[bool | None, str, str]
"""Status, None for unknown, reason and message of a condition."""


async def look_up(
    client: ProjectReader, cluster: Cluster, node_class: HetznerNodeClass, *, now: datetime
) -> HetznerNodeClassStatus:
    """Return the class's status as it is after a look at everything; what was learnt of it is kept.

    At most nine calls, fewer when one fails: the first one tells a wrong token.

    Raises:
        Unreachable: the Kubernetes API server, which has the parts of the user data, does not answer.
    """
    spec = node_class.spec
    try:
        types = await client.server_types()
        locations = await client.locations()
        parts = catalogue_of(types, locations, await client.prices())
        faults = await _token_faults(client, spec)
        names = await find_names(client, spec)
    except AuthenticationFailed as error:
        return without_token(node_class, error, now=now)
    except (GrowthError, ValueError) as error:
        return _unread(node_class, error, now)
    if not types or not locations:
        return _unread(node_class, ValueError("Hetzner lists no server types or locations"), now)
    status = node_class.status.model_copy(update={**parts, "read_at": now, "resolved": names.resolved})
    text = await _user_data(cluster, node_class)
    faults += [*_location_faults(spec, status), *_name_faults(names)]
    if not isinstance(text, Completeness):
        faults.append(text)
    after = _with_conditions(node_class, status, names, faults or _offer_faults(spec, status, now), now)
    conditions = _conditions_with(node_class, after.conditions, USER_DATA_COMPLETE, _of_user_data(text), now=now)
    return after.model_copy(update={"conditions": conditions})


def without_token(node_class: HetznerNodeClass, error: GrowthError, *, now: datetime) -> HetznerNodeClassStatus:
    """Return the status of a class without a token that Hetzner accepts; the catalogue is kept as it was."""
    ref = node_class.spec.token_secret_ref
    problem = _plain(node_class, error)
    message = problem if problem.startswith("spec.") else f"spec.tokenSecretRef: Secret {ref}: {problem}"
    verdict = (False, "InvalidToken", message)
    conditions = _conditions_with(node_class, node_class.status.conditions, READY, verdict, now=now)
    verdict = (False, "InvalidToken", "no token is accepted")
    conditions = _conditions_with(node_class, conditions, CATALOGUE_READ, verdict, now=now)
    return node_class.status.model_copy(update={"conditions": conditions})


def _unread(node_class: HetznerNodeClass, error: Exception, now: datetime) -> HetznerNodeClassStatus:
    """Return the status after a read that failed: as it was, but for a class that was never looked up as it is now."""
    reason = error.reason if isinstance(error, GrowthError) else "Unreadable"
    problem = " ".join(str(error).split())
    verdict = (False, reason, problem)
    conditions = _conditions_with(node_class, node_class.status.conditions, CATALOGUE_READ, verdict, now=now)
    ready = next((each for each in conditions if each.type == READY), None)
    if ready is None or ready.observed_generation != node_class.metadata.generation or ready.reason == UNREACHABLE:
        verdict = (False, UNREACHABLE, f"the project could not be looked up: {problem}")
        conditions = _conditions_with(node_class, conditions, READY, verdict, now=now)
    return node_class.status.model_copy(update={"conditions": conditions})


async def _token_faults(client: ProjectReader, spec: HetznerNodeClassSpec) -> list[_Fault]:
    """Return the fault of a token that may only read; it has been accepted for reads already."""
    try:
        await client.check_writable()
    except AuthenticationFailed:
        ref = spec.token_secret_ref
        message = f"spec.tokenSecretRef: the token in Secret {ref} may only read: make one that may read and write"
        return [("ReadOnlyToken", message)]
    return []


def _location_faults(spec: HetznerNodeClassSpec, status: HetznerNodeClassStatus) -> Iterator[_Fault]:
    known = {place.name for place in status.places}
    for name in spec.locations:
        if name not in known:
            yield "LocationNotFound", f"spec.locations: Hetzner has no location {name}, only {_listed(known)}"


def _name_faults(names: FoundNames) -> Iterator[_Fault]:
    if not names.resolved.images:
        yield from (("ImageNotFound", message) for message in names.missing_images)
    yield from (("NetworkNotFound", message) for message in names.missing_networks)
    # Without its firewall a server would be open to the world.
    yield from (("FirewallNotFound", message) for message in names.missing_firewalls)


async def _user_data(cluster: Cluster, node_class: HetznerNodeClass) -> Completeness | _Fault:
    """Return what the user data shows, or the fault for which there is none."""
    try:
        return await user_data.check(cluster, node_class)
    except InvalidConfiguration as error:
        return "InvalidUserData", _plain(node_class, error)


def _offer_faults(spec: HetznerNodeClassSpec, status: HetznerNodeClassStatus, now: datetime) -> list[_Fault]:
    """Return the fault of a class that offers nothing though it has no other fault."""
    if any(one.available for one in offered(spec, status, now)):
        return []
    locations = usable_locations(spec, status)
    if not locations:
        zones = (
            ""
            if status.resolved is None
            else _listed(zone for network in status.resolved.networks for zone in network_zones(network))
        )
        places = f"of spec.locations ({_listed(spec.locations)})" if spec.locations else "of Hetzner's"
        return [("NoOfferings", f"no location {places} is in the network zone of all spec.networks: {zones}")]
    images = () if status.resolved is None else status.resolved.images
    message = (
        f"no server type for {_listed(image.architecture for image in images)} with a known price is sold in "
        f"{_listed(locations)}: see spec.locations, spec.imageByArchitecture and spec.enableIPv4"
    )
    return [("NoOfferings", message)]


def _with_conditions(
    node_class: HetznerNodeClass,
    status: HetznerNodeClassStatus,
    names: FoundNames,
    faults: Sequence[_Fault],
    now: datetime,
) -> HetznerNodeClassStatus:
    fault = (faults[0][0], "; ".join(message for _, message in faults)) if faults else None
    places = _listed({one.location for one in offered(node_class.spec, status, now) if one.available})
    verdicts = {
        READY: _verdict(READY, fault, f"it offers servers in {places}"),
        CATALOGUE_READ: _verdict(CATALOGUE_READ, None),
        IMAGES: _verdict(IMAGES, _joined("ImageNotFound", names.missing_images), "; ".join(names.partial_images)),
        SSH_KEYS: _verdict(SSH_KEYS, _joined("SSHKeyNotFound", names.missing_ssh_keys)),
    }
    conditions = status.conditions
    for kind, verdict in verdicts.items():
        conditions = _conditions_with(node_class, conditions, kind, verdict, now=now)
    return status.model_copy(update={"conditions": conditions})


def _verdict(kind: str, fault: _Fault | None, message: str = "") -> _Verdict:
    """Return what a condition says: False for the fault, or True."""
    return (True, kind, message) if fault is None else (False, *fault)


def _of_user_data(text: Completeness | _Fault) -> _Verdict:
    if isinstance(text, Completeness):
        return text.status, text.reason, text.message
    return None, text[0], "Ready says what is wrong with it"


def _conditions_with(
    node_class: HetznerNodeClass, conditions: Sequence[Condition], kind: str, verdict: _Verdict, *, now: datetime
) -> tuple[Condition, ...]:
    status, reason, message = verdict
    return set_condition(
        conditions,
        kind,
        status=status,
        reason=reason,
        message=message,
        now=now,
        generation=node_class.metadata.generation,
    )


def _joined(reason: str, messages: Sequence[str]) -> _Fault | None:
    return (reason, "; ".join(messages)) if messages else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _plain(node_class: HetznerNodeClass, error: Exception) -> str:
    """Return the message without the name of the class, on which it will stand."""
    return str(error).removeprefix(f"HetznerNodeClass {node_class.metadata.name}: ")
