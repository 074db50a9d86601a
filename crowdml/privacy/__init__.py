"""Decide what may leave a device: mechanisms, exact noise, events, the ledger.

`direction/` and `noise/` are the mechanisms; everything else is shared. The device makes payloads
here, and the server reads them. A change that affects what is drawn or sent needs a proof in
docs/privacy.md and an audit.
"""

from crowdml.privacy.chance import Chance, RandomIndex, SystemChance
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.choice import LARGEST_CHOICE, Choice, best_closest
from crowdml.privacy.direction import Codebook, DirectionMechanism, DirectionPayload, role_of
from crowdml.privacy.events import (
    CheckinEvent,
    DirectionEvent,
    MinibatchPart,
    NoiseEvent,
    Release,
    Role,
)
from crowdml.privacy.features import bound_features, bound_rows, check_target
from crowdml.privacy.laws import GAUSSIAN, LAPLACE, Law
from crowdml.privacy.ledger import Ledger, Limits
from crowdml.privacy.loss import PRIVATE_UP_TO, Loss, Unit, within
from crowdml.privacy.mechanism import CheckinEstimates, ErrorCountLaw, Implausible, Mechanism
from crowdml.privacy.minibatch import MinibatchView
from crowdml.privacy.noise import (
    NoiseLevels,
    NoiseMechanism,
    NoisePayload,
    choose_grid,
    quantize,
    sensitivity_steps,
)
from crowdml.privacy.noise_source import ExactNoise, NoiseSource
from crowdml.privacy.roles import ALL_TRAIN, LARGEST_SHARE, Roles
from crowdml.privacy.shown import Dial, HidingPicture, Hills, ShownPayload, WatchedMinibatch
from crowdml.privacy.stand_in import UNLIMITED, StandIn
from crowdml.privacy.zcdp import epsilon_of, excess_probability, rho_of

__all__ = [
    "ALL_TRAIN",
    "GAUSSIAN",
    "LAPLACE",
    "LARGEST_CHOICE",
    "LARGEST_SHARE",
    "PRIVATE_UP_TO",
    "UNLIMITED",
    "Chance",
    "CheckinEstimates",
    "CheckinEvent",
    "CheckinKey",
    "Choice",
    "Codebook",
    "Dial",
    "DirectionEvent",
    "DirectionMechanism",
    "DirectionPayload",
    "ErrorCountLaw",
    "ExactNoise",
    "HidingPicture",
    "Hills",
    "Implausible",
    "Law",
    "Ledger",
    "Limits",
    "Loss",
    "Mechanism",
    "MinibatchPart",
    "MinibatchView",
    "NoiseEvent",
    "NoiseLevels",
    "NoiseMechanism",
    "NoisePayload",
    "NoiseSource",
    "RandomIndex",
    "Release",
    "Role",
    "Roles",
    "ShownPayload",
    "StandIn",
    "SystemChance",
    "Unit",
    "WatchedMinibatch",
    "best_closest",
    "bound_features",
    "bound_rows",
    "check_target",
    "choose_grid",
    "epsilon_of",
    "excess_probability",
    "quantize",
    "rho_of",
    "role_of",
    "sensitivity_steps",
    "within",
]
