"""What leaves a device: mechanisms, exact noise, what it costs, and the ledger of it."""

from crowdml.privacy.chance import Chance, SystemChance
from crowdml.privacy.choice import LARGEST_CHOICE, Choice, best_closest
from crowdml.privacy.codebook import Codebook
from crowdml.privacy.direction import Directed, DirectionMechanism, role_of
from crowdml.privacy.events import CheckinEvent, DirectionEvent, NoiseEvent, Part, Release, Role
from crowdml.privacy.features import bound_features, bound_rows, check_target
from crowdml.privacy.grid import choose_grid, dequantize, quantize, sensitivity_steps
from crowdml.privacy.laws import GAUSSIAN, LAPLACE, Law
from crowdml.privacy.ledger import Ledger, Limits
from crowdml.privacy.loss import PRIVATE_UP_TO, Loss, Unit
from crowdml.privacy.mechanism import Implausible, Mechanism, Place, Reading
from crowdml.privacy.minibatch import Minibatch, choose
from crowdml.privacy.noise import ExactNoise, NoiseSource
from crowdml.privacy.noisy import Levels, NoiseMechanism, Noisy
from crowdml.privacy.roles import ALL_TRAIN, LARGEST_SHARE, Roles
from crowdml.privacy.zcdp import epsilon_of, rho_of

__all__ = [
    "ALL_TRAIN",
    "GAUSSIAN",
    "LAPLACE",
    "LARGEST_CHOICE",
    "LARGEST_SHARE",
    "PRIVATE_UP_TO",
    "Chance",
    "CheckinEvent",
    "Choice",
    "Codebook",
    "Directed",
    "DirectionEvent",
    "DirectionMechanism",
    "ExactNoise",
    "Implausible",
    "Law",
    "Ledger",
    "Levels",
    "Limits",
    "Loss",
    "Mechanism",
    "Minibatch",
    "NoiseEvent",
    "NoiseMechanism",
    "NoiseSource",
    "Noisy",
    "Part",
    "Place",
    "Reading",
    "Release",
    "Role",
    "Roles",
    "SystemChance",
    "Unit",
    "best_closest",
    "bound_features",
    "bound_rows",
    "check_target",
    "choose",
    "choose_grid",
    "dequantize",
    "epsilon_of",
    "quantize",
    "rho_of",
    "role_of",
    "sensitivity_steps",
]
