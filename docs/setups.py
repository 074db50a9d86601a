"""Draw what runs where with a sensor app: `python docs/setups.py` writes docs/setup-*.svg."""

from pathlib import Path

HERE = Path(__file__).parent
HEIGHT = 176

SETUPS = {
    "setup-sensor-logger": (
        (
            ("Your phone", "Sensor Logger"),
            ("Your computer", "crowdml device"),
            ("Server", "crowdml"),
        ),
        ("readings", "one small number"),
    ),
    "setup-termux": (
        (("Your phone", "termux-sensor", "crowdml device"), ("Server", "crowdml")),
        ("one small number",),
    ),
    "setup-phyphox": (
        (("Your phone", "phyphox"), ("Your computer", "crowdml device"), ("Server", "crowdml")),
        ("readings", "one small number"),
    ),
    "setup-home": (
        (("Phone or home", "OwnTracks,", "Home Assistant"), ("Your broker", "Mosquitto"),
         ("Your computer", "crowdml device"), ("Server", "crowdml")),
        ("states", "states", "a number"),
    ),
}  # fmt: skip


def draw(boxes: tuple[tuple[str, ...], ...], arrows: tuple[str, ...]) -> str:
    """Return an SVG: machines from left to right, with a frame around those of the participant."""
    box, gap = (142, 82) if len(boxes) > 3 else (236, 104) if len(boxes) < 3 else (168, 104)
    width = len(boxes) * box + (len(boxes) - 1) * gap + 40
    own = width - 16 - box - gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}" font-family="sans-serif" font-size="14">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>',
        f'<rect x="8" y="8" width="{own:g}" height="{HEIGHT - 16}" rx="10" fill="#eef6f0" '
        'stroke="#2f7d4f" stroke-dasharray="5 4"/>',
        f'<text x="20" y="{HEIGHT - 20}" fill="#1f5c38">only your machines see readings</text>',
    ]
    for n, (title, *programs) in enumerate(boxes):
        x = 20 + n * (box + gap)
        parts.append(
            f'<rect x="{x}" y="32" width="{box}" height="96" rx="8" fill="#fff" stroke="#333"/>'
            f'<text x="{x + box / 2:g}" y="58" text-anchor="middle" font-weight="bold" '
            f'fill="#111">{title}</text>'
        )
        for line, program in enumerate(programs):
            parts.append(
                f'<text x="{x + box / 2:g}" y="{84 + 20 * line}" text-anchor="middle" '
                f'fill="#333">{program}</text>'
            )
    for n, words in enumerate(arrows):
        x = 20 + n * (box + gap) + box
        parts.append(
            f'<path d="M{x + 4} 80H{x + gap - 12}" stroke="#111" stroke-width="2"/>'
            f'<path d="M{x + gap - 14} 74l10 6-10 6z" fill="#111"/>'
        )
        lines = words.rsplit(" ", 1) if len(words) > 10 else [words]
        for line, each in enumerate(lines):
            y = 70 - 15 * (len(lines) - 1 - line)
            parts.append(
                f'<text x="{x + gap / 2:g}" y="{y}" text-anchor="middle" font-size="12" '
                f'fill="#111">{each}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    for name, setup in SETUPS.items():
        (HERE / f"{name}.svg").write_text(draw(*setup))
