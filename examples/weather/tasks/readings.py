"""What the three tasks share: reading the file and answering in JSON."""

import csv
import json
import sys

COLUMNS = ["origin", "time_hour", "temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib"]


def request():
    """The one JSON object that jaren writes to a task's standard input."""
    return json.load(sys.stdin)


def answer(value):
    """The one JSON value that a task writes to its standard output."""
    json.dump(value, sys.stdout, allow_nan=False)


def fail(why):
    """A failed task: a line on standard error, kept with the run, and a status that is not zero."""
    sys.exit(why)


def rows(path):
    """The rows of the file as dictionaries of text."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or [])]
        if missing:
            fail(f"{path}: columns are missing: {', '.join(missing)}")
        yield from reader


def number(text):
    """A reading, or None where the station gave none."""
    return None if text == "NA" else float(text)
