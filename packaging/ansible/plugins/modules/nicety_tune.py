#!/usr/bin/python
"""Tunes a host; see also the action plugin of the same name, which confirms."""

DOCUMENTATION = r"""
module: nicety_tune
short_description: Tune a host's network path, with a way back if the host is lost
description:
  - Applies what C(nicety tune plan) finds. A guard on the host undoes everything unless the controller confirms it.
  - The controller confirms over a new connection, so a change that cuts the host off is undone by the host itself.
  - With O(measure) the changes stay only if a measurement before and after proves a gain.
  - Check mode reports the changes and makes none; diff mode shows each setting before and after.
options:
  state:
    description: V(tuned) applies and confirms. V(undone) takes back the last transaction that fits the host.
    type: str
    choices: [tuned, undone]
    default: tuned
  goal:
    description: What to tune for.
    type: str
    choices: [throughput, latency, forwarding]
    default: throughput
  only:
    description: Use these rules only, by id or name.
    type: list
    elements: str
    default: []
  fix_risk:
    description: Apply findings of at most this risk. V(low) leaves out what may interrupt traffic.
    type: str
    choices: [low, medium, high]
    default: low
  rtt:
    description: Round trip time of the connections that matter, as in V(20ms).
    type: str
  rate:
    description: Rate of these connections in Mbit/s.
    type: int
  peer:
    description: Address of a host at the far end, with which a larger MTU is tested.
    type: str
  confirm_within:
    description: The host undoes everything unless it is confirmed within these seconds.
    type: int
    default: 60
  measure:
    description: A plan of C(nicety bench) on the host, measured before and after.
    type: path
  transaction:
    description: For the action plugin alone.
    type: int
  phase:
    description: For the action plugin alone.
    type: str
    choices: [plan, apply, confirm, last, undo]
    default: apply
extends_documentation_fragment: [nicety.network.program]
author: [nicety]
"""

EXAMPLES = r"""
- name: What would change, and nothing else
  nicety.network.nicety_tune:
    goal: throughput
  check_mode: true
  diff: true

- name: Change what is safe; the host undoes it if it cannot be reached any more
  nicety.network.nicety_tune:
    goal: throughput
    fix_risk: low

- name: Keep the change only if it is a gain
  nicety.network.nicety_tune:
    only: [T21]
    fix_risk: high
    measure: /usr/share/doc/nicety/plans/linux-bridge-blog.toml
"""

RETURN = r"""
transaction:
  description: Number of the transaction, for C(nicety tune undo).
  returned: when something was applied
  type: int
settings:
  description: Each setting with its old and new value.
  returned: always
  type: list
decision:
  description: V(kept), V(no-effect), V(worse) or V(not-measured). Whatever is not kept has been undone.
  returned: with O(measure)
  type: str
gain:
  description: Gain and its 95 % interval, as shares.
  returned: with O(measure), when measured
  type: dict
"""

import json
import os
import shutil
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.nicety.network.plugins.module_utils.program import COMMON, GOALS, Nicety, ProgramFailed


def asked(params):
    """Options of plan and apply."""
    words = ["--goal", params["goal"], "--fix-risk", params["fix_risk"]]
    if params["only"]:
        words += ["--only", ",".join(params["only"])]
    for name in ("rtt", "rate", "peer"):
        if params[name] is not None:
            words += [f"--{name}", str(params[name])]
    return words


def named(knob):
    """A setting in words: its kind and what it is of."""
    return " ".join(str(value) for value in knob.values())


def diff(settings):
    """Before and after, as Ansible shows them."""
    side = lambda key: "".join(f"{named(s['knob'])} = {s[key]}\n" for s in settings)
    return {"before": side("from"), "after": side("to")}


def plan(nicety, params):
    advice = nicety.ask("tune", "plan", *asked(params), allowed=(0, 1))
    settings = [change for finding in advice["findings"] for change in finding["changes"]]
    return {"changed": bool(settings), "settings": settings, "diff": diff(settings), "findings": advice["findings"]}


def measured(out):
    with open(os.path.join(out, "measured.json"), encoding="utf-8") as file:
        found = json.load(file)
    return {key: found[key] for key in ("decision", "gain") if key in found}


def apply(nicety, params):
    words = asked(params) + ["--for", f"{params['confirm_within']}s"]
    if not params["measure"]:
        return applied(nicety.ask("tune", "apply", *words))
    out = tempfile.mkdtemp(prefix="nicety-measure-")
    try:
        report = nicety.ask("tune", "apply", *words, "--measure", params["measure"], "--out", out, allowed=(0, 1))
        return dict(applied(report), **(measured(out) if is_applied(report) else {}))
    finally:
        shutil.rmtree(out, ignore_errors=True)


def is_applied(report):
    """An older nicety reports nothing where there was nothing to change."""
    return report is not None and "transaction" in report


def applied(report):
    """What `tune apply` reports; no transaction where there was nothing to change."""
    if not is_applied(report):
        return {"changed": False, "settings": [], "open": False}
    still = report["phase"] in ("unconfirmed", "confirmed")
    return {
        "changed": still,
        "open": report["phase"] == "unconfirmed",
        "transaction": report["transaction"],
        "settings": report["settings"],
        "diff": diff(report["settings"]) if still else {"before": "", "after": ""},
    }


def last(nicety):
    """What became of the last transaction."""
    history = nicety.ask("tune", "status", allowed=(0, 1))["history"]
    newest = max(history, key=lambda one: one["transaction"], default=None)
    return {"changed": False, "last": newest, "settings": newest["settings"] if newest else []}


def confirm(nicety, transaction):
    report = nicety.ask("tune", "apply", "--confirm", str(transaction))
    return {"changed": True, "transaction": report["transaction"], "settings": report["settings"]}


def undo(nicety, check):
    if check:
        open_now = nicety.ask("tune", "status", allowed=(0, 1))["active"]
        settings = [setting for one in open_now[-1:] for setting in one["settings"]]
        back = [dict(setting, **{"from": setting["to"], "to": setting["from"]}) for setting in settings]
        return {"changed": bool(open_now), "settings": back, "diff": diff(back)}
    report = nicety.ask("tune", "undo")
    settings = report["settings"] if report else []
    back = [dict(setting, **{"from": setting["to"], "to": setting["from"]}) for setting in settings]
    return {"changed": bool(report), "settings": back, "diff": diff(back)}


def main():
    spec = dict(
        COMMON,
        state={"type": "str", "choices": ["tuned", "undone"], "default": "tuned"},
        goal={"type": "str", "choices": GOALS, "default": "throughput"},
        only={"type": "list", "elements": "str", "default": []},
        fix_risk={"type": "str", "choices": ["low", "medium", "high"], "default": "low"},
        rtt={"type": "str"},
        rate={"type": "int"},
        peer={"type": "str"},
        confirm_within={"type": "int", "default": 60},
        measure={"type": "path"},
        transaction={"type": "int"},
        phase={"type": "str", "choices": ["plan", "apply", "confirm", "last", "undo"], "default": "apply"},
    )
    module = AnsibleModule(spec, supports_check_mode=True)
    nicety, phase = Nicety(module), module.params["phase"]
    if module.check_mode and phase == "apply":
        phase = "plan"
    phases = {
        "plan": lambda: plan(nicety, module.params),
        "apply": lambda: apply(nicety, module.params),
        "confirm": lambda: confirm(nicety, module.params["transaction"]),
        "last": lambda: last(nicety),
        "undo": lambda: undo(nicety, module.check_mode),
    }
    try:
        module.exit_json(**phases[phase]())
    except ProgramFailed as failed:
        module.fail_json(msg=str(failed))


if __name__ == "__main__":
    main()
