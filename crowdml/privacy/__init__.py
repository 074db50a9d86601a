"""What leaves a device: sensitivity, exact noise, what it costs, and the ledger of it."""

from crowdml.privacy.chance import Chance, SystemChance
from crowdml.privacy.events import CheckinRelease, LaplaceRelease, Part
from crowdml.privacy.features import bound_features, check_target
from crowdml.privacy.forecast import Forecast, GradientNoise, forecast, gradient_noise
from crowdml.privacy.grid import choose_grid, dequantize, quantize, sensitivity_steps
from crowdml.privacy.ledger import Ledger, Limits
from crowdml.privacy.noise import (
    ExactNoise,
    NoiseSource,
    laplace_scale,
    laplace_tail,
    laplace_variance,
)
from crowdml.privacy.sanitizer import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Epsilon,
    Sanitized,
    Sanitizer,
    Summary,
)

__all__ = [
    "LARGEST_EPSILON",
    "SMALLEST_EPSILON",
    "Chance",
    "CheckinRelease",
    "Epsilon",
    "ExactNoise",
    "Forecast",
    "GradientNoise",
    "LaplaceRelease",
    "Ledger",
    "Limits",
    "NoiseSource",
    "Part",
    "Sanitized",
    "Sanitizer",
    "Summary",
    "SystemChance",
    "bound_features",
    "check_target",
    "choose_grid",
    "dequantize",
    "forecast",
    "gradient_noise",
    "laplace_scale",
    "laplace_tail",
    "laplace_variance",
    "quantize",
    "sensitivity_steps",
]
