"""The fields of a NodePool that shall come: nothing obeys them yet, so each is refused instead of passed over."""

from typing import Final

from api.unsupported import FLAG, LIST, PART, PARTS, VALUE, unsupported

OF_SPEC: Final = unsupported(
    paused=FLAG,
    dryRun=FLAG,
    selector=PART,
    rotation=PART,
    health=PART,
    schedule=PARTS,
)
OF_SERVER_TYPE: Final = unsupported(locations=PARTS)
OF_TEMPLATE: Final = unsupported(startupTaint=FLAG)
OF_SCALE_UP: Final = unsupported(
    estimators=LIST,
    thresholdPercent=VALUE,
    starvation=FLAG,
    batchMax=VALUE,
    maxInFlight=VALUE,
    podGrace=VALUE,
    lock=PART,
    cooldown=VALUE,
    breaker=PART,
)
OF_SCALE_DOWN: Final = unsupported(
    group=PART,
    node=PART,
    drainTimeout=VALUE,
    cooldownAfterScaleUp=VALUE,
    cooldownAfterScaleDown=VALUE,
    maxDeletesPerRound=VALUE,
    order=VALUE,
    safety=PART,
    taintEffect=VALUE,
)
