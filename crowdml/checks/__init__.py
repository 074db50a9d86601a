"""Check that models, optimizers, mechanisms, noise, stores and transports keep their promises.

Our tests call these suites, and so do people who write a kind of their own. The audit,
which `crowdml audit` runs, measures how much the check-ins of devices really reveal.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.checks.audit import Finding, audit_mechanism
    from crowdml.checks.mechanisms import check_mechanism
    from crowdml.checks.models import check_model
    from crowdml.checks.noise import check_noise_source
    from crowdml.checks.optimizers import check_optimizer
    from crowdml.checks.picture import draw_audit
    from crowdml.checks.programs import AuditedProgram, JavaScriptProgram, OneFileProgram
    from crowdml.checks.stores import check_store
    from crowdml.checks.transports import check_transport

__all__ = [
    "AuditedProgram",
    "Finding",
    "JavaScriptProgram",
    "OneFileProgram",
    "audit_mechanism",
    "check_mechanism",
    "check_model",
    "check_noise_source",
    "check_optimizer",
    "check_store",
    "check_transport",
    "draw_audit",
]

# Checking a model needs no server: only `check_store` imports one.
__getattr__ = lazy(__name__)
