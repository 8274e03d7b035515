"""Applies on the host and confirms from the controller, over a connection made after the change."""

import time

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

MODULE = "nicety.network.nicety_tune"
# As the module has it.
WITHIN_S = 60
# Between two tries to reach a host, and what a host may need beyond its guard's time to put everything back.
PAUSE_S = 2
SLACK_S = 15


class ActionModule(ActionBase):
    """See the module of the same name for options and results."""

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        if self._task.args.get("state", "tuned") == "undone":
            result.update(self._phase("undo", task_vars))
            return result
        if self._task.check_mode:
            result.update(self._phase("plan", task_vars))
            return result
        within = int(self._task.args.get("confirm_within", WITHIN_S))
        begun = time.monotonic()
        try:
            applied = self._phase("apply", task_vars)
        except AnsibleConnectionFailure as lost:
            applied = {"unreachable": True, "msg": str(lost)}
        if applied.get("unreachable"):
            result.update(self._lost(within, task_vars))
            return result
        result.update(applied)
        if applied.get("failed"):
            return result
        if applied.get("decision") == "worse":
            result.update(failed=True, changed=False, msg="The measurement says worse. The host has undone the change.")
            return result
        if not result.pop("open", False):
            return result
        # The measurement may have taken minutes; the guard's time begins when it is over.
        left = within if self._task.args.get("measure") else within - (time.monotonic() - begun)
        result.update(self._confirmed(applied["transaction"], left, task_vars))
        return result

    def _phase(self, phase, task_vars, **more):
        arguments = dict(self._task.args, phase=phase, **more)
        return self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars)

    def _confirmed(self, transaction, left, task_vars):
        """Confirms while the guard waits. The old connection proves nothing: it may outlive the way to the host."""
        until = time.monotonic() + left
        while time.monotonic() < until:
            try:
                self._connection.reset()
                confirmed = self._phase("confirm", task_vars, transaction=transaction)
            except AnsibleConnectionFailure:
                confirmed = {"unreachable": True}
            if confirmed.get("failed") and not confirmed.get("unreachable"):
                # The guard was faster.
                break
            if not confirmed.get("unreachable"):
                return {"transaction": transaction}
            time.sleep(PAUSE_S)
        return self._lost(int(self._task.args.get("confirm_within", WITHIN_S)), task_vars)

    def _lost(self, within, task_vars):
        """Waits for a host that was lost to put everything back, and says what became of it."""
        why = f"The host could not be reached after the change, so it was not confirmed within {within} s."
        until = time.monotonic() + within + SLACK_S
        while time.monotonic() < until:
            try:
                self._connection.reset()
                found = self._phase("last", task_vars)
                newest = found.get("last") or {}
                if newest.get("phase") == "unconfirmed":
                    # It is back before its guard has acted: it was away, so the change is not trusted.
                    self._phase("undo", task_vars)
                    continue
            except AnsibleConnectionFailure:
                found = {"unreachable": True}
            if not found.get("unreachable"):
                state = newest.get("phase", "nothing was changed")
                return {
                    "failed": True,
                    "changed": False,
                    "transaction": newest.get("transaction"),
                    "msg": f"{why} It has undone the change and is back ({state}).",
                }
            time.sleep(PAUSE_S)
        return {"failed": True, "unreachable": True, "changed": True, "msg": f"{why} It has not come back since."}
