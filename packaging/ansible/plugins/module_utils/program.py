"""Runs the installed nicety and reads its JSON."""

import json
import os


class ProgramFailed(Exception):
    """nicety ended with an error; the text is what it said."""


# Code 3 is "something that the host lacks": a NIC, a right, a package.
MEANING = {2: "the call or the state of the host does not fit", 3: "the host lacks something"}


class Nicety:
    """The program at `path`, called for an Ansible module."""

    def __init__(self, module):
        self.module = module
        self.program = module.get_bin_path(module.params["executable"], required=True)
        if module.params.get("state_dir"):
            # Read by all commands that keep a journal.
            os.environ["NICETY_STATE"] = module.params["state_dir"]

    def run(self, *words):
        """Exit code, standard output and standard error."""
        return self.module.run_command([self.program, *words], environ_update={"LC_ALL": "C", "NO_COLOR": "1"})

    def ask(self, *words, allowed=(0,)):
        """The JSON object that a command prints, or None where it prints nothing."""
        code, out, err = self.run(*words, "--json")
        if code not in allowed:
            said = " ".join(line.removeprefix("nicety: ") for line in err.splitlines() if line.strip())
            meaning = MEANING.get(code, "it failed")
            raise ProgramFailed(f"nicety {' '.join(words)}: {said or meaning} (exit code {code})")
        return json.loads(out) if out.strip() else None


# Options of every module; their documentation is doc_fragments/program.py.
COMMON = {
    "executable": {"type": "str", "default": "nicety"},
    "state_dir": {"type": "path"},
}

# What a host is tuned for.
GOALS = ["throughput", "latency", "forwarding"]
