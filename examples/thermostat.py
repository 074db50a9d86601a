"""Let a thermostat take part in the tutorial's task, in a few lines.

python examples/thermostat.py https://127.0.0.1:8443 FINGERPRINT
"""

import random
import sys

from crowdml import Device


def read_sensors() -> dict[str, float]:
    """Stand in for real sensors, which give their readings in their own units."""
    return {
        "temperature": random.uniform(16, 26),
        "humidity": random.uniform(30, 70),
        "light": random.uniform(0, 1000),
        "hour": random.uniform(7, 23),
    }


def ask_person(readings: dict[str, float]) -> str:
    """Stand in for a vote."""
    temperature = readings["temperature"]
    return "cold" if temperature < 19.5 else "warm" if temperature > 22.5 else "fine"


def main(url: str, fingerprint: str) -> None:
    device = Device.join(url, "room", file="thermostat.device", fingerprint=fingerprint)
    for _ in range(60):
        readings = read_sensors()
        outcome = device.add(readings, ask_person(readings))
        print(outcome)
    print(f"spent so far: ε = {device.ledger.epsilon_spent:g}")
    device.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
