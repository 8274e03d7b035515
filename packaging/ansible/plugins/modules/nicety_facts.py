#!/usr/bin/python
"""Facts of a host as nicety sees them."""

DOCUMENTATION = r"""
module: nicety_facts
short_description: Read what a VM host's network path is made of
description:
  - Runs C(nicety inspect) on the host and returns NUMA nodes, CPUs, interfaces, interrupts, guests and settings.
  - Changes nothing and needs no root. As root it sees more.
options:
  goal:
    description: Also list what would improve this goal. Without it no rule is asked.
    type: str
    choices: [throughput, latency, forwarding]
extends_documentation_fragment: [nicety.network.program]
author: [nicety]
"""

EXAMPLES = r"""
- name: Read the host and what slows it
  nicety.network.nicety_facts:
    goal: throughput

- name: Show the rules that found something
  ansible.builtin.debug:
    msg: "{{ ansible_facts.nicety_findings | map(attribute='id') }}"
"""

RETURN = r"""
ansible_facts:
  description: C(nicety), the facts as C(HostFacts) of schema/nicety.schema.json, and with O(goal) C(nicety_findings).
  returned: always
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.nicety.network.plugins.module_utils.program import COMMON, GOALS, Nicety, ProgramFailed


def main():
    spec = dict(COMMON, goal={"type": "str", "choices": GOALS})
    module = AnsibleModule(spec, supports_check_mode=True)
    nicety = Nicety(module)
    try:
        facts = {"nicety": nicety.ask("inspect")}
        if module.params["goal"]:
            advice = nicety.ask("tune", "plan", "--goal", module.params["goal"], allowed=(0, 1))
            facts["nicety_findings"] = advice["findings"]
    except ProgramFailed as failed:
        module.fail_json(msg=str(failed))
    module.exit_json(changed=False, ansible_facts=facts)


if __name__ == "__main__":
    main()
