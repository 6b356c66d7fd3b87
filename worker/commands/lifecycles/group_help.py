"""The command groups of lifecycle kinds, with their help: all that `growth --help` has to load of them."""

from typing import Final

GROUP_HELP: Final = {"requests": "Machines that shall come.", "removals": "Machines that shall go."}
"""By name, the plural of the kind's word. The commands are the `app` of the module of that name beside this one."""
