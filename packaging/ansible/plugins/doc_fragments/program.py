"""Options that all modules have; their argument spec is COMMON in module_utils/program.py."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  executable:
    description: The nicety program.
    type: str
    default: nicety
  state_dir:
    description: Directory of nicety's journals. The default is that of nicety.
    type: path
"""
