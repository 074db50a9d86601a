"""Conformance suites: what every model, optimizer, noise source, store and transport must pass."""

from crowdml.checks.models import check_model
from crowdml.checks.noise import check_noise_source
from crowdml.checks.optimizers import check_optimizer

__all__ = ["check_model", "check_noise_source", "check_optimizer"]
