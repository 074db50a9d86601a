"""Conformance suites: what models, optimizers, mechanisms, noise, stores, transports keep."""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.checks.mechanisms import check_mechanism
    from crowdml.checks.models import check_model
    from crowdml.checks.noise import check_noise_source
    from crowdml.checks.optimizers import check_optimizer
    from crowdml.checks.stores import check_store
    from crowdml.checks.transports import check_transport

__all__ = [
    "check_mechanism",
    "check_model",
    "check_noise_source",
    "check_optimizer",
    "check_store",
    "check_transport",
]

# Checking a model needs no server: only `check_store` loads one.
__getattr__ = lazy(
    __name__,
    {
        "check_mechanism": "crowdml.checks.mechanisms",
        "check_model": "crowdml.checks.models",
        "check_noise_source": "crowdml.checks.noise",
        "check_optimizer": "crowdml.checks.optimizers",
        "check_store": "crowdml.checks.stores",
        "check_transport": "crowdml.checks.transports",
    },
)
