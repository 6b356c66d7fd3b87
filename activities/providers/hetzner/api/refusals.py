"""Answers of Hetzner that only its own provider tells apart; everybody else sees the kind they derive from.

ProviderError
├── GroupFull                   this placement group takes no more: the next one may
├── CannotSpread                no host apart from the others is free
├── QuotaExceeded
│   ├── SubnetFull              the class's subnet has no free address
│   └── NoGroup                 the project has reached its quota of placement groups
├── UnknownOutcome
│   ├── NameInUse               a server of that name exists: whose is it?
│   └── Locked                  something else is being done to the server
└── InvalidConfiguration
    └── Protected               a person forbade the deletion
"""

from typing import ClassVar

from activities.ports.errors import InvalidConfiguration, ProviderError, QuotaExceeded, UnknownOutcome


class NameInUse(UnknownOutcome):
    """A server of that name exists: an earlier call may have made it, or somebody else."""

    reason: ClassVar[str] = "NameInUse"


class GroupFull(ProviderError):
    """The placement group takes no further server, or is gone: certain that nothing was created."""

    reason: ClassVar[str] = "GroupFull"


class CannotSpread(ProviderError):
    """The placement group cannot be kept apart now: certain that nothing was created."""

    reason: ClassVar[str] = "CannotSpread"


class SubnetFull(QuotaExceeded):
    """The subnet that the class names has no free address: certain that nothing was created."""

    reason: ClassVar[str] = "SubnetFull"


class NoGroup(QuotaExceeded):
    """The project has reached its quota of placement groups: certain that nothing was created."""

    reason: ClassVar[str] = "NoGroup"


class Locked(UnknownOutcome):
    """Something else is being done to the server: the same call will do in a while."""

    reason: ClassVar[str] = "Locked"


class Protected(InvalidConfiguration):
    """A person has set delete protection: it is not Growth's to take away."""

    reason: ClassVar[str] = "Protected"
