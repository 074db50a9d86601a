"""A thermostat that takes part in the tutorial's task, in a few lines.

python examples/thermostat.py https://127.0.0.1:8443 FINGERPRINT
"""

import random
import sys

from crowdml import Device


def read_sensors() -> list[float]:
    """Stand-in for real sensors: temperature, humidity, light, hour, scaled as the task says."""
    return [random.uniform(-0.2, 0.2) for _ in range(4)]


def ask_person(x: list[float]) -> str:
    """Stand-in for a vote."""
    return "cold" if x[0] < -0.07 else "warm" if x[0] > 0.07 else "fine"


def main(url: str, fingerprint: str) -> None:
    device = Device.join(url, "room", file="thermostat.device", fingerprint=fingerprint)
    for _ in range(60):
        x = read_sensors()
        outcome = device.add(x, ask_person(x))
        print(outcome)
    print(f"spent so far: ε = {device.ledger.epsilon_spent:g}")
    device.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
