#!/usr/bin/python
"""A policy for the police daemon of a host."""

DOCUMENTATION = r"""
module: nicety_police
short_description: Put a policy on a host and have the police daemon use it
description:
  - Checks the policy on the host with C(nicety police run --dry-run) before a file is replaced.
  - Replaces the file in one step and reloads the daemon. A daemon that refuses the policy keeps the old one, and the
    old file comes back.
options:
  policy:
    description: The policy's text, in TOML.
    type: str
    required: true
  path:
    description: Where the daemon reads it; the unit of the package reads the default. Another file than that of a running
      daemon is refused.
    type: path
    default: /etc/nicety/policy.toml
  absent_ok:
    description: Accept ports that do not exist yet, such as those of guests that are off.
    type: bool
    default: false
  reload:
    description: Reload the daemon if one is running.
    type: bool
    default: true
extends_documentation_fragment: [nicety.network.program]
author: [nicety]
"""

EXAMPLES = r"""
- name: Share the uplink
  nicety.network.nicety_police:
    policy: "{{ lookup('ansible.builtin.template', 'policy.toml.j2') }}"
"""

RETURN = r"""
reloaded:
  description: Whether a running daemon took the policy over.
  returned: always
  type: bool
"""

import json
import os
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.nicety.network.plugins.module_utils.program import COMMON, Nicety


def said(err):
    return " ".join(line.removeprefix("nicety: ") for line in err.splitlines() if line.strip())


def other(out, path):
    """The policy of the running daemon, where it is another file. A relative name says nothing: its directory is unknown."""
    reads = json.loads(out)["policy"]
    if os.path.isabs(reads) and os.path.realpath(reads) != os.path.realpath(path):
        return reads
    return None


def replace(module, path, text):
    """Writes beside the file and renames, as root's file of mode 0644."""
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".police-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    module.atomic_move(name, path)


def main():
    spec = dict(
        COMMON,
        policy={"type": "str", "required": True},
        path={"type": "path", "default": "/etc/nicety/policy.toml"},
        absent_ok={"type": "bool", "default": False},
        reload={"type": "bool", "default": True},
    )
    module = AnsibleModule(spec, supports_check_mode=True)
    nicety, path, new = Nicety(module), module.params["path"], module.params["policy"]
    try:
        with open(path, encoding="utf-8") as file:
            old = file.read()
    except FileNotFoundError:
        old = None
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as tried:
        tried.write(new)
        tried.flush()
        more = ["--absent-ok"] if module.params["absent_ok"] else []
        code, _, err = nicety.run("police", "run", tried.name, "--dry-run", "--count", "1", *more)
        if code != 0:
            module.fail_json(msg=f"The policy is refused: {said(err).replace(tried.name, 'policy')}")
    running, out, _ = nicety.run("police", "status", "--json")
    reloads = module.params["reload"] and running == 0
    reads = other(out, path) if reloads else None
    if reads:
        module.fail_json(msg=f"The daemon reads {reads} and not {path}: write path: {reads}, or reload: false")
    result = {
        "changed": new != old,
        "reloaded": False,
        "diff": {"before": old or "", "after": new, "before_header": path, "after_header": path},
    }
    if module.check_mode or new == old:
        module.exit_json(**result)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace(module, path, new)
    if reloads:
        code, _, err = nicety.run("police", "reload")
        if code != 0:
            if old is None:
                os.unlink(path)
            else:
                replace(module, path, old)
            module.fail_json(msg=f"The daemon refuses the policy and goes on with the old one: {said(err)}")
        result["reloaded"] = True
    module.exit_json(**result)


if __name__ == "__main__":
    main()
