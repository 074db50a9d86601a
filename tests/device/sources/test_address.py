"""Test addresses of topics."""

import pytest

from crowdml.device.sources.address import TopicAddress, is_address, read_address
from crowdml.errors import InvalidInput


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("mqtt://host/a", TopicAddress("mqtt", "host", 1883, "a")),
        ("mqtts://host/a/b", TopicAddress("mqtts", "host", 8883, "a/b")),
        ("mqtt://[::1]:99/a", TopicAddress("mqtt", "::1", 99, "a")),
        ("mqtt://u@host/a", TopicAddress("mqtt", "host", 1883, "a", "u")),
        ("mqtt://u%40v:p%3A%2Fq@host/a", TopicAddress("mqtt", "host", 1883, "a", "u@v", "p:/q")),
        ("mqtt://host/home/+/x/#", TopicAddress("mqtt", "host", 1883, "home/+/x/#")),
        ("mqtt://host//a?b", TopicAddress("mqtt", "host", 1883, "/a?b")),
        ("mqtt://host/50%25", TopicAddress("mqtt", "host", 1883, "50%")),
    ],
)
def test_the_parts(source: str, address: TopicAddress) -> None:
    assert is_address(source)
    assert read_address(source) == address


@pytest.mark.parametrize(
    "source",
    ["mqtt://", "mqtt://host", "mqtt://host/", "mqtt:///a", "mqtt://host:x/a", "mqtt://host:0/a",
     "mqtt://host:70000/a", "mqtt://[::1/a", "mqtt://u:p@/a", "mqtt://u:p/q@host/a"],
)  # fmt: skip
def test_what_is_none(source: str) -> None:
    with pytest.raises(InvalidInput, match=r"must be mqtt://\[user:password@\]HOST"):
        read_address(source)


def test_a_password_is_never_shown() -> None:
    address = read_address("mqtt://ann:secret@[::1]/a")
    assert str(address) == "mqtt://ann:…@[::1]:1883/a"
    assert "secret" not in repr(address)
    with pytest.raises(InvalidInput) as error:
        read_address("mqtt://ann:secret@host:x/a")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "source", ["-", "mqtt", "mqtt.csv", "https://host/a", "mqtt/a.csv", "mqtt:"]
)
def test_other_sources(source: str) -> None:
    assert not is_address(source)
