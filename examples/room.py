"""Make up the tutorial's people: votes about a room, and a crowd that takes part with them.

python examples/room.py pilot > pilot.csv
python examples/room.py votes [PERSON] > votes.csv
python examples/room.py crowd https://127.0.0.1:8443 FINGERPRINT [PEOPLE]
"""

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from crowdml import Device

VOTES = 60
PILOT = (2001, 2002)
"""The two colleagues who voted before anybody else was asked."""


def votes(person: int) -> Iterator[tuple[dict[str, float], str]]:
    """Make up what the sensors read when a person voted, and the vote."""
    rng = random.Random(person)
    likes_it_warm = rng.gauss(0, 0.5)
    for _ in range(VOTES):
        temperature, humidity = rng.uniform(16, 26), rng.uniform(30, 70)
        light, hour = rng.uniform(0, 1000), rng.uniform(7, 23)
        feels = temperature + 0.03 * (humidity - 50) - likes_it_warm + rng.gauss(0, 0.5)
        vote = "cold" if feels < 19.5 else "warm" if feels > 22.5 else "fine"
        readings = {"temperature": temperature, "humidity": humidity, "light": light, "hour": hour}
        yield {name: round(value, 1) for name, value in readings.items()}, vote


def print_pilot() -> None:
    print("temperature [°C],humidity [%],light [lux],hour [h],vote,person")
    for person in PILOT:
        for readings, vote in votes(person):
            print(*readings.values(), vote, person, sep=",")


def print_votes(person: str = "0") -> None:
    """Write the columns in another order, as another program may."""
    print("hour,light,temperature,humidity,vote")
    for at, vote in votes(int(person)):
        print(at["hour"], at["light"], at["temperature"], at["humidity"], vote, sep=",")


def crowd(url: str, fingerprint: str, people: str = "150") -> None:
    """Let each person take part with a device that has its own file, ledger and random draws."""
    with tempfile.TemporaryDirectory() as folder:
        for person in range(1, int(people) + 1):
            file = Path(folder) / str(person) / "room.device"
            with Device.join(url, "room", file=file, fingerprint=fingerprint) as device:
                for readings, vote in votes(person):
                    device.add(readings, vote)
            print(f"\r{person} of {people} people have checked in", end="", flush=True)
    print()


if __name__ == "__main__":
    {"pilot": print_pilot, "votes": print_votes, "crowd": crowd}[sys.argv[1]](*sys.argv[2:])
