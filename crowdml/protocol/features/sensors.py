"""List the sensors that a task can name; task files, forms and pages read this list."""

from typing import NamedTuple

from crowdml.phrase import Phrase


class SensorKind(NamedTuple):
    """Describe a kind of sensor.

    Args:
        words: What is read, for people who choose a sensor and for people who read a task.
        consent: What a participant's browser reads, as the beginning of a sentence.
        typical_reading: A typical reading, for the made-up readings of an example.
        first_bin: The weight of bin 0 of a spectrum where the owner's form says nothing.
        typed_in: Whether participants enter numbers, so that there are no readings.
    """

    words: Phrase
    consent: Phrase
    typical_reading: float = 1.0
    first_bin: float = 1.0
    typed_in: bool = False


SENSORS = {
    "motion": SensorKind(
        Phrase("the accelerometer"),
        Phrase("This browser reads the accelerometer"),
        typical_reading=9.81,
        first_bin=0.1,  # bin 0 is mostly gravity
    ),
    "sound": SensorKind(
        Phrase("the microphone's level (no sound is kept)"),
        Phrase("This browser reads how loud the microphone is and keeps no sound"),
        typical_reading=0.2,
    ),
    "light": SensorKind(
        Phrase("the light sensor"),
        Phrase("This browser reads the light sensor"),
        typical_reading=300.0,
    ),
    "speed": SensorKind(
        Phrase("the speed from the location service (no place is kept)"),
        Phrase("This browser reads the speed from the location service, no place"),
    ),
    "manual": SensorKind(
        Phrase("numbers that you type in"),
        Phrase("This browser takes the numbers that you type in"),
        typed_in=True,
    ),
}
"""All kinds of sensors. A kind that is registered while the process runs is valid from then on."""
