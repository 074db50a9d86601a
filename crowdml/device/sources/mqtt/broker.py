"""Keep a session with an MQTT 5 broker in which one topic is read and no message is lost.

The broker keeps the session under the device's name and sends one message at a time (Receive
Maximum 1). It sends the next message when the first is acknowledged. After a lost connection it
sends the same message again, with its number, before any other. So a device that remembers the last
stored message can recognise a repetition.
"""

import logging
import ssl
import time
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from crowdml.device.network import why_unreachable
from crowdml.device.outcome import Outcome
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.sources.address import TopicAddress
from crowdml.errors import DeviceError, InvalidInput, Untrusted

logger = logging.getLogger("crowdml.device")

KEEPALIVE = 60
SESSION_SECONDS = 30 * 24 * 3600
"""How long the broker keeps messages for a device that is away."""

RETRY_LATER = {"Connection rate exceeded", "Quota exceeded", "Server busy", "Server unavailable"}
"""Rejections that may be temporary."""

AVAILABLE, GONE = b"online", b"offline"


class TopicMessage(NamedTuple):
    """Hold one message of the topic.

    Args:
        number: The broker's number for it, until it is acknowledged; 0 if it never has to be.
        repeated: Whether it may have come before: the broker says so, or it is the first one of a
            connection, since a broker that crashed may not know what it had sent.
    """

    number: int
    repeated: bool
    payload: bytes
    topic: str = ""

    @property
    def sha256(self) -> str:
        """Return the hash by which a repetition is recognised."""
        return sha256(self.number.to_bytes(2, "big") + self.payload).hexdigest()


class Broker:
    """Connect to a broker again and again, in one session.

    Args:
        client: The name of the session.
        authorities: A file of certificates to trust in place of the system's.
        availability: A topic that says whether the device is there.
        keeps_state: Whether a topic's retained message is its current state, which is read at
            every connection; other retained messages are ignored.

    Attributes:
        ready: Whether it is connected and reads the topic.
    """

    def __init__(
        self,
        address: TopicAddress,
        client: str,
        authorities: Path | None = None,
        availability: str | None = None,
        retry_timer: RetryTimer | None = None,
        keeps_state: Callable[[str], bool] | None = None,
    ) -> None:
        self.address = address
        self._keeps_state = keeps_state
        self.inbox: deque[TopicMessage] = deque()
        self._availability = availability
        self._retry_timer = retry_timer or RetryTimer()
        self._retained: dict[str, bytes] = {}
        self.ready = self._was_ready = self._leaving = self._first = False
        self._logged = ""
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client, protocol=mqtt.MQTTv5, manual_ack=True
        )
        self._client.username = address.user
        self._client.password = address.password
        if address.secure:
            self._client.tls_set_context(_trusting(authorities))
        if availability:
            self._client.will_set(availability, GONE, qos=1, retain=True)
            self._retained[availability] = AVAILABLE
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._client.on_disconnect = self._on_disconnect

    def poll(self, seconds: float) -> None:
        """Read and write for at most this time; connect if the time has come."""
        if self._client.socket():
            self._client.loop(seconds)
        elif self._retry_timer.is_due:
            self._connect()
        else:
            time.sleep(min(seconds, self._retry_timer.seconds))

    def acknowledge(self) -> None:
        """Acknowledge the first message of the inbox, so that the broker may forget it."""
        message = self.inbox.popleft()
        if message.number:
            self._client.ack(message.number, 1)

    def retain(self, topic: str, payload: bytes) -> None:
        """Publish a value that the broker keeps for later subscribers, unless it has it already."""
        if self._retained.get(topic) != payload:
            self._retained[topic] = payload
            if self.ready:
                self._client.publish(topic, payload, retain=True)

    def leave(self, for_good: bool = False) -> None:
        """End the connection; with `for_good`, the broker stops keeping messages."""
        self._leaving = True
        if self._availability and not for_good:
            self.retain(self._availability, GONE)
        seconds = 0 if for_good else SESSION_SECONDS
        self._client.disconnect(
            properties=_properties(PacketTypes.DISCONNECT, SessionExpiryInterval=seconds)
        )

    def _connect(self) -> None:
        properties = _properties(
            PacketTypes.CONNECT, SessionExpiryInterval=SESSION_SECONDS, ReceiveMaximum=1
        )
        host, port = self.address.host, self.address.port
        try:
            self._client.connect(host, port, KEEPALIVE, clean_start=False, properties=properties)
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(
                f"the certificate of the broker {host}:{port} is not trusted: "
                f"{error.verify_message}. For a home's own authority, add --ca FILE."
            ) from error
        except (OSError, UnicodeError) as error:
            self._fail(f"cannot reach the broker {host}:{port}: {why_unreachable(error)}")

    def _on_connect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        if reason.is_failure:
            return self._handle_rejection(reason)
        self._first = flags.session_present
        retained = SubscribeOptions.RETAIN_DO_NOT_SEND
        if self._keeps_state:
            retained = SubscribeOptions.RETAIN_SEND_ON_SUBSCRIBE
        options = SubscribeOptions(qos=1, retainHandling=retained)
        try:
            client.subscribe(self.address.topic, options=options)
        except ValueError as error:
            raise InvalidInput(
                "a topic must have + or # as whole levels only, # at its end, found "
                f"{self.address.topic!r}."
            ) from error

    def _handle_rejection(self, reason: ReasonCode) -> None:
        what = (
            f"the broker {self.address.host}:{self.address.port} rejected the connection: {reason}"
        )
        # A broker that accepted this user before may check users in a service that is not yet
        # running.
        if self._was_ready or str(reason) in RETRY_LATER:
            return self._log_once(what)
        remedy = "Look at the user and the password in --source."
        if str(reason) == "Unsupported protocol version":
            remedy = "It must speak MQTT 5, as Mosquitto does from 1.6 on."
        raise InvalidInput(f"{what}. {remedy}")

    def _on_subscribe(
        self, client: Any, data: Any, mid: int, reasons: list[ReasonCode], properties: Any
    ) -> None:
        if reasons[0].value != 1:
            raise InvalidInput(
                f"the broker must grant QoS 1 on {self.address.topic!r}, found: {reasons[0]}. "
                "Let this user read the topic."
            )
        self.ready = self._was_ready = True
        self._logged = ""
        self._retry_timer.clear()
        for topic, payload in self._retained.items():
            client.publish(topic, payload, retain=True)

    def _on_message(self, client: Any, data: Any, message: mqtt.MQTTMessage) -> None:
        if message.retain and not (self._keeps_state and self._keeps_state(message.topic)):
            if message.mid:
                client.ack(message.mid, message.qos)
            return
        repeated = message.dup or self._first
        self._first = self._first and not message.mid
        self.inbox.append(
            TopicMessage(message.mid, repeated, bytes(message.payload), message.topic)
        )

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        # The broker sends these messages again. On the next connection, their numbers may be
        # reused.
        self.inbox = deque(message for message in self.inbox if not message.number)
        self.ready = False
        if self._leaving:
            return
        if str(reason) == "Session taken over":
            raise DeviceError(
                f"one process may read {self.address} for a device, found another that has just "
                "begun. Stop one of them."
            )
        why = f": {reason}" if flags.is_disconnect_packet_from_server else ""
        self._fail(f"lost the broker {self.address.host}:{self.address.port}{why}")

    def _fail(self, what: str) -> None:
        self._retry_timer.wait_after_failure(Outcome.WAITING)
        self._log_once(what)

    def _log_once(self, what: str) -> None:
        """Log a problem once, until there is a connection again."""
        if not self._logged:
            logger.warning(f"{what}. Will try again.")
            self._logged = what


def _properties(packet: int, **values: int) -> Properties:
    properties = Properties(packet)  # type: ignore[no-untyped-call]
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _trusting(authorities: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise InvalidInput(
            f"--ca must be a file of certificates in PEM, found {str(authorities)!r}: {error}."
        ) from error
