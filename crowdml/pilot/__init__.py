"""A pilot: samples that the owner may use openly, and the start that is fitted to them."""

from crowdml.pilot.fit import Fitted, choose_folds, choose_intercept, fit_start
from crowdml.pilot.minimize import minimize
from crowdml.pilot.samples import PilotSamples

__all__ = ["Fitted", "PilotSamples", "choose_folds", "choose_intercept", "fit_start", "minimize"]
