"""Reads a dashboard by Grafana's own schema and prints every key that the schema does not know or reads otherwise.

The classes of grafana-foundation-sdk are generated from Grafana's schema and drop what it does not have.
Usage: dashboard_schema.py FILE
"""

import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def compare(given, read, path):
    if isinstance(given, dict) and isinstance(read, dict):
        for key, value in given.items():
            if key in read:
                compare(value, read[key], f"{path}.{key}")
            else:
                print(f"{path}.{key}: not in the schema")
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for at, value in enumerate(given):
            compare(value, read[at], f"{path}[{at}]")
    elif given != read:
        print(f"{path}: {given!r} is read as {read!r}")


plugins.register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
compare(dashboard, json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard))), "dashboard")
