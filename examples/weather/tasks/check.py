"""Refuses a file that is not what the rest expects, and says which file it was."""

import hashlib
from collections import Counter
from datetime import datetime

from readings import COLUMNS, answer, fail, number, request, rows

path = request()["input"]["file"]
stations = Counter()
seen = set()
times = []
for line, row in enumerate(rows(path), start=2):
    key = (row["origin"], row["time_hour"])
    if key in seen:
        fail(f"{path}:{line}: a second reading of {key[0]} at {key[1]}")
    seen.add(key)
    try:
        times.append(datetime.strptime(row["time_hour"], "%Y-%m-%dT%H:%M:%SZ"))
        for column in COLUMNS[2:]:
            number(row[column])
    except (TypeError, ValueError) as error:
        fail(f"{path}:{line}: {error}")
    stations[row["origin"]] += 1
if not times:
    fail(f"{path}: the file holds no reading")

with open(path, "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
answer({
    "file": path,
    "sha256": digest,
    "readings": dict(sorted(stations.items())),
    "from": min(times).isoformat() + "Z",
    "to": max(times).isoformat() + "Z",
})
