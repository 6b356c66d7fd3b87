"""Answers of Hetzner that only its own provider tells apart; everybody else sees the kind they derive from.

ProviderError
├── GroupFull                   this placement group takes no more: the next one may
├── CannotSpread                no host apart from the others is free
├── QuotaExceeded
│   ├── SubnetFull              the class's subnet has no free address
│   ├── NoGroup                 the project has reached its quota of placement groups
│   └── ProjectLocked           Hetzner has locked something: only its support helps
├── UnknownOutcome
│   ├── NameInUse               a server of that name exists: whose is it?
│   └── Locked                  something else is being done to the server
└── InvalidConfiguration
    ├── NamesGone               something that the class names is not there any more
    └── Protected               a person forbade the deletion
"""

from typing import ClassVar, Final

from activities.ports.errors import Extent, InvalidConfiguration, ProviderError, QuotaExceeded, UnknownOutcome

THE_LOCATION: Final = Extent("location")
"""Of a shortage: the location takes no server of any type. What is there, the call tells."""
PERHAPS_THE_LOCATION: Final = Extent("location", may_be_all_types=True)
"""Of a shortage: perhaps it is the whole location."""
THE_TYPE: Final = Extent("type")
"""Of a shortage: the type is not to be had anywhere."""


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


class NoGroup(QuotaExceeded):
    """The project has reached its quota of placement groups: certain that nothing was created."""


class ProjectLocked(QuotaExceeded):
    """Hetzner has locked what is asked for: certain that nothing was done."""

    def __init__(self, message: str) -> None:
        """Keep that no machine which goes ends it."""
        super().__init__(message, frees=False)


class Locked(UnknownOutcome):
    """Something else is being done to the server: the same call will do in a while."""

    reason: ClassVar[str] = "Locked"


class Protected(InvalidConfiguration):
    """A person has set delete protection: it is not Growth's to take away."""

    reason: ClassVar[str] = "Protected"


class NamesGone(InvalidConfiguration):
    """An image, key, firewall or network of the class is not there any more: certain that nothing was created."""

    reason: ClassVar[str] = "InvalidConfiguration"
