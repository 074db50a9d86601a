"""Read a topic of an MQTT broker as a source. Only this package needs an MQTT library."""

from crowdml.device.sources.mqtt.broker import Broker
from crowdml.device.sources.mqtt.discovery import Discovery
from crowdml.device.sources.mqtt.topic import feed_from_topic, session_name

__all__ = ["Broker", "Discovery", "feed_from_topic", "session_name"]
