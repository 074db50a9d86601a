"""Read a topic of an MQTT broker as a source. Only this package needs an MQTT library."""

from crowdml.device.sources.mqtt.broker import Broker
from crowdml.device.sources.mqtt.discovery import Discovery
from crowdml.device.sources.mqtt.topic import client_of, listen

__all__ = ["Broker", "Discovery", "client_of", "listen"]
