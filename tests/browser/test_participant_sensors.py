"""Every kind of sensor, and numbers that are typed in."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import ARGUMENTS, LOOKS, Watch, find_chromium
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, inspect, phone_task
from tests.support.servers import Portal
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")

SUMMARY = {"features__count": 4, "features__sensor__transform": "summary"}
MANUAL = {
    "features__count": 2,
    "features__sensor__kind": "manual",
    "features__sensor__transform": "values",
    "features__sensor__fields": ["Hours of sleep", "Cups of coffee"],
    "features__sensor__scale": 24.0,
}
STARTS = """
    globalThis.starts = [];
    const { addEventListener: listen } = globalThis;
    globalThis.addEventListener = (kind, ...rest) => {
        if (kind === "devicemotion") starts.push(kind);
        listen.call(globalThis, kind, ...rest);
    };
    const { getUserMedia: hear } = MediaDevices.prototype;
    MediaDevices.prototype.getUserMedia = function (...wanted) {
        starts.push("microphone");
        return hear.apply(this, wanted);
    };
"""
"""Notes when a page starts to read a sensor."""
REGRESSION = {"target__labels": None, "model__kind": "huber", "model__clip": 1.0}


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    tasks = [
        phone_task("sleep", **MANUAL, collection__batch=2),
        phone_task("steps", **REGRESSION, target__description="Steps a minute."),
        phone_task("noise", **SUMMARY, features__sensor__kind="sound"),
        phone_task("speed", **SUMMARY, features__sensor__kind="speed", features__sensor__window=2),
        phone_task("tilt"),
    ]
    return add_tasks(phones, *tasks)


def test_numbers_that_are_typed_in(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "sleep").open().agree()
    participant.says("Ready for the next sample.")
    form = page.locator("#manual")
    order = [form.get_by_label("Cups of coffee"), participant.button("Still")]
    order.append(participant.button("Add this sample"))
    boxes = [each.bounding_box() for each in order]
    assert sorted(box["y"] for box in boxes if box) == [box["y"] for box in boxes if box]
    form.get_by_label("Hours of sleep").fill("6.5")
    form.get_by_label("Hours of sleep").press("Enter")
    expect(form.get_by_label("Cups of coffee")).to_be_focused()
    form.get_by_label("Cups of coffee").fill("3")
    participant.tap("Add this sample")
    expect(page.locator("#manual-note")).to_have_text("Choose the answer, then add the sample.")
    expect(participant.button("Still")).to_be_focused()
    assert participant.collected() == 0
    inspect(page, "manual")
    participant.tap("Jogging")
    participant.tap("Add this sample")
    expect(page.locator("#samples")).to_have_text("1 of 2")
    (sample,) = participant.stored()["buffer"]
    assert sample["y"] == 2
    assert sample["x"] == pytest.approx([6.5 / 24, 3 / 24])
    expect(form.get_by_label("Hours of sleep")).to_have_value("")
    expect(form.get_by_label("Hours of sleep")).to_be_focused()
    expect(page.locator("#manual-note")).to_have_text("Kept on this device.")
    form.get_by_label("Hours of sleep").fill("8")
    form.get_by_label("Cups of coffee").fill("0")
    participant.tap("Still")
    participant.tap("Add this sample")
    participant.until_applied(1)


def test_a_number_to_predict(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "steps").open().agree()
    participant.says("Nothing is read until you answer.")
    page.get_by_label("Number", exact=True).fill("1.5")
    participant.until_applied(1)
    participant.says("Collecting: 1.5.")
    inspect(page, "number")
    page.get_by_label("Number", exact=True).fill("")
    participant.says("Nothing is collected until you say what is true now.")


def test_the_microphone(chromium: Browser, server: Portal, watch: Watch) -> None:
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    browser = chromium.browser_type.launch(
        executable_path=find_chromium(), args=[*ARGUMENTS, *fake]
    )
    context = browser.new_context(base_url=server.url, **LOOKS["phone-light"])
    watch.origins.add(server.url)
    watch.follow(context)
    participant = Participant(context.new_page(), server, "noise").open().agree()
    participant.tap("Still")
    participant.until_applied(1)
    expect(participant.page.locator("#signal-text")).to_contain_text("of full level")
    participant.tap("Pause")
    browser.close()
    assert watch.verdict() == []


def test_the_speed(browse: Browse, server: Portal) -> None:
    place = {"latitude": 40.0, "longitude": -83.0}
    page = browse(server, "phone-light", geolocation=place, permissions=["geolocation"])
    participant = Participant(page, server, "speed").open().agree()
    participant.tap("Jogging")
    session = page.context.new_cdp_session(page)
    for step in range(200):
        override = {"accuracy": 5, "speed": 2.5 + 0.01 * step}
        place = {"latitude": 40.0 + 1e-4 * step, "longitude": -83.0}
        session.send("Emulation.setGeolocationOverride", place | override)
        page.wait_for_timeout(20)
        if participant.sent:
            break
    participant.until_applied(1)
    assert "latitude" not in str(participant.stored())


def test_a_place_that_may_not_be_known(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light", permissions=[])
    participant = Participant(page, server, "speed").open().agree()
    participant.tap("Walking")
    participant.says("The location service may not be used. Allow it in the browser's settings")
    inspect(page, "refused")
    expect(participant.button("Resume")).to_be_visible()


def test_a_phone_without_motion(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "tilt", motion=False).open().agree()
    participant.tap("Still")
    participant.says("No readings come from the motion sensor.")
    expect(page.locator("#status")).to_have_attribute("data-tone", "quiet")


@pytest.mark.parametrize(("task", "sensor"), [("tilt", "devicemotion"), ("noise", "microphone")])
def test_nothing_is_read_before_the_first_answer(
    browse: Browse, server: Portal, task: str, sensor: str
) -> None:
    page = browse(server, "phone-light")
    page.add_init_script(STARTS)
    participant = Participant(page, server, task).open().agree()
    for visit in ("the first one", "after a reload"):
        participant.says("Nothing is read until you answer.")
        page.wait_for_timeout(500)
        assert page.evaluate("starts") == [], visit
        expect(participant.button("Pause")).to_be_hidden()
        expect(page.locator("#model-guess")).to_have_text("after your answer")
        expect(page.locator("#signal-text")).to_have_text("No readings yet.")
        assert page.evaluate("starts") == [], visit
        participant.tap("Walking")
        participant.until(lambda: page.evaluate("starts") == [sensor])
        page.reload()
        participant.says("Paused. Nothing is collected.")
        participant.tap("Resume")


def test_iphones_ask_in_the_tap(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.add_init_script(
        """DeviceMotionEvent.requestPermission = async () => {
            globalThis.tapped = navigator.userActivation.isActive;
            return globalThis.answer ?? "granted";
        };"""
    )
    participant = Participant(page, server, "tilt").open()
    page.evaluate("globalThis.answer = 'denied'")
    participant.tap("Agree and take part")
    expect(page.get_by_role("alert")).to_contain_text("The motion sensor was refused.")
    assert page.evaluate("globalThis.tapped")
    page.evaluate("globalThis.answer = 'granted'")
    participant.agree()
    participant.tap("Walking")
    participant.until_applied(1)
