"""Writes the report, whole or not at all: running twice leaves the same file."""

import os

from readings import answer, request

given = request()["input"]
source = given["measured"]["source"]
stations = given["measured"]["stations"]
decision = given["decision"]
doubtful = [(station["station"], reading) for station in stations for reading in station["doubtful"]]


def span(summary):
    return " / ".join(f"{summary[part]:.1f}" for part in ("least", "mean", "most")) if summary else "–"


lines = [
    "# Weather at New York's airports",
    "",
    f"{source['from']} to {source['to']}, {sum(source['readings'].values())} hourly readings",
    f"of `{os.path.basename(source['file'])}` (SHA-256 {source['sha256'][:16]}…).",
    "",
    "| station | hours | temperature °C (least / mean / most) | wind km/h | pressure hPa | precipitation mm |",
    "|---|---|---|---|---|---|",
]
for station in stations:
    cells = [station["station"], station["hours"], span(station["temperature_c"]), span(station["wind_km_h"]),
             span(station["pressure_hpa"]), f"{station['precipitation_mm']:.1f}"]
    lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
lines += ["", "## Readings left out", ""]
for station, reading in doubtful:
    least, most = reading["plausible"]
    lines.append(f"- {station}, {reading['time']}: {reading['column']} {reading['value']:g}, plausible {least} to {most}")
if not doubtful:
    lines.append("None: no reading was doubtful, so nobody had to look at them.")
elif decision is None:
    lines += ["", "Nobody looked at them in time."]
else:
    lines += ["", f"Approved by {decision['payload']['by']}."]

path = given["report"]
with open(path + ".part", "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
os.replace(path + ".part", path)
answer({"report": path, "left_out": len(doubtful), "reviewed": decision is not None})
