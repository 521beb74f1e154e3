"""One station's statistics, leaving out readings that no instrument at that place can have seen."""

from readings import answer, fail, number, request, rows

# (column, least, most): what is physically possible at sea level in New York, in the file's units.
PLAUSIBLE = [
    ("temp", -40, 120),
    ("dewp", -60, 90),
    ("humid", 0, 100),
    ("wind_speed", 0, 150),
    ("precip", 0, 12),
    ("pressure", 900, 1090),
    ("visib", 0, 10),
]


def celsius(fahrenheit):
    return (fahrenheit - 32) * 5 / 9


def summary(values):
    if not values:
        return None
    mean = sum(values) / len(values)
    return {"least": round(min(values), 1), "mean": round(mean, 1), "most": round(max(values), 1)}


wanted = request()["with"]
station = wanted["station"]
readings = {column: [] for column, _, _ in PLAUSIBLE}
missing = dict.fromkeys(readings, 0)
doubtful = []
hours = 0
for row in rows(wanted["file"]):
    if row["origin"] != station:
        continue
    hours += 1
    for column, least, most in PLAUSIBLE:
        value = number(row[column])
        if value is None:
            missing[column] += 1
        elif least <= value <= most:
            readings[column].append(value)
        else:
            doubtful.append({"time": row["time_hour"], "column": column, "value": value, "plausible": [least, most]})
if hours == 0:
    fail(f"{wanted['file']}: no reading of station {station}")

answer({
    "station": station,
    "hours": hours,
    "temperature_c": summary([celsius(value) for value in readings["temp"]]),
    "wind_km_h": summary([value * 1.609344 for value in readings["wind_speed"]]),
    "pressure_hpa": summary(readings["pressure"]),
    "precipitation_mm": round(sum(readings["precip"]) * 25.4, 1),
    "missing": {column: count for column, count in missing.items() if count},
    "doubtful": doubtful,
})
