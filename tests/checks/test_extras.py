"""Test that people who write their own parts can run the suites without all extras."""

import subprocess
import sys

from crowdml import checks


def test_only_the_suite_of_stores_needs_a_database() -> None:
    others = ", ".join(name for name in checks.__all__ if name != "check_store")
    code = f"import sys; from crowdml.checks import {others}; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout == "False\n"
