"""Publish the state of the device in the format of Home Assistant's MQTT discovery.

The published state has counts and states of the device, nothing that came from a sample, and not
the device's token.
"""

from typing import Any

import msgspec

import crowdml
from crowdml.device.device import Device
from crowdml.device.outcome import Outcome
from crowdml.device.sources.mqtt.broker import Broker
from crowdml.protocol import Promise

PREFIX = "homeassistant"
DISCOVERY_STATES = ["collecting", "waiting", "ended"]
ENTITIES: dict[str, dict[str, Any]] = {
    "state": {"name": "State", "device_class": "enum", "options": DISCOVERY_STATES},
    "samples": {"name": "Samples in the buffer", "state_class": "measurement"},
    "checkins": {"name": "Check-ins", "state_class": "total_increasing"},
    "epsilon": {"name": "ε spent", "state_class": "total_increasing"},
}
ATTRIBUTES = {"state": ("why",), "epsilon": ("promise", "level", "per_device")}


class Discovery:
    """Describe four sensors of one device, and whether it is available.

    Args:
        client: The name of the broker's session, which is the name of the device there.
    """

    def __init__(self, client: str, task: str) -> None:
        self.availability = f"crowdml/{client}/availability"
        self._state = f"crowdml/{client}/state"
        self._configs = {
            f"{PREFIX}/sensor/{client}/{key}/config": msgspec.json.encode(
                self._config(client, task, key)
            )
            for key in ENTITIES
        }

    def announce(self, broker: Broker, device: Device, outcome: Outcome) -> None:
        """Publish what has changed; the broker keeps it."""
        for topic, config in self._configs.items():
            broker.retain(topic, config)
        broker.retain(self._state, msgspec.json.encode(device_state(device, outcome)))

    def _config(self, client: str, task: str, key: str) -> dict[str, Any]:
        config = ENTITIES[key] | {
            "unique_id": f"{client}_{key}",
            "state_topic": self._state,
            "value_template": f"{{{{ value_json.{key} }}}}",
            "availability_topic": self.availability,
            "device": {"identifiers": [client], "name": f"crowdml {task}"},
            "origin": {"name": "crowdml", "sw_version": crowdml.__version__},
        }
        if key in ATTRIBUTES:
            shown = ", ".join(f"'{name}': value_json['{name}']" for name in ATTRIBUTES[key])
            config["json_attributes_topic"] = self._state
            config["json_attributes_template"] = f"{{{{ {{{shown}}} | tojson }}}}"
        return config


def device_state(device: Device, outcome: Outcome) -> dict[str, Any]:
    """Return the state of the device; in JSON, an infinite ε is null."""
    state, why = "waiting", str(outcome)
    if device.ended:
        state, why = "ended", device.ended
    elif outcome in (Outcome.COLLECTED, Outcome.CHECKED_IN):
        state, why = "collecting", ""
    limit = device.identity.limits.per_device
    allowed = device.terms.checkins_within(limit)
    promise = Promise.of(device.terms, allowed, [event.loss for event in device.ledger.events])
    said = promise.sentences
    return {
        "state": state,
        "why": why,
        "samples": device.n_samples,
        "checkins": device.n_answered,
        "epsilon": device.ledger.epsilon_spent,
        "promise": str(said["epsilon"] if promise.private else said["not_private"]),
        "level": str(promise.level.pill),
        "per_device": limit,
    }
