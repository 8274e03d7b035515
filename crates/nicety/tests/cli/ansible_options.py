"""Prints where a module of the collection takes other options than ansible-doc shows, a line each.

Usage: ansible_options.py ANSIBLE-DOC COLLECTIONS
"""

import importlib
import json
import subprocess
import sys

MODULES = ("nicety_facts", "nicety_police", "nicety_tune")
KEYS = ("type", "default", "choices", "required", "elements")


class Taken(Exception):
    """The options that a module asks Ansible for."""


def taken(spec, **_):
    raise Taken(spec)


def options(name):
    module = importlib.import_module(f"ansible_collections.nicety.network.plugins.modules.{name}")
    module.AnsibleModule = taken
    try:
        module.main()
    except Taken as found:
        return found.args[0]
    raise SystemExit(f"{name} asks for no options")


def shown(program):
    names = [f"nicety.network.{name}" for name in MODULES]
    said = subprocess.run([program, "-t", "module", "--json", *names], check=True, capture_output=True, text=True)
    return {name: json.loads(said.stdout)[f"nicety.network.{name}"]["doc"]["options"] for name in MODULES}


def main():
    program, collections = sys.argv[1:]
    sys.path.insert(0, collections)
    for name, doc in shown(program).items():
        spec = options(name)
        for option in sorted(set(spec) | set(doc)):
            sides = [{key: side.get(option, {}).get(key) or None for key in KEYS} for side in (spec, doc)]
            if sides[0] != sides[1] or not doc[option].get("description"):
                print(f"{name}: {option}: takes {sides[0]}, shows {sides[1]}")


main()
