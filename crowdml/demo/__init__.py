"""A live crowd on one machine."""

from crowdml.demo.demo import Demo, Result, run_demo
from crowdml.demo.tasks import demo_task

__all__ = ["Demo", "Result", "demo_task", "run_demo"]
