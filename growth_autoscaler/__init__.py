"""Growth as an installed package: importing it puts the folder that holds the rooms first on the module search path.

The rooms are top-level packages with common names (`api`, `worker`, …), and the search path may have others of these
names before site-packages: a folder in PYTHONPATH, or the current one. An installed wheel has the rooms in this folder,
a checkout beside it.
"""

import sys
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).absolute().parent
ROOMS: Final = _HERE if (_HERE / "worker").is_dir() else _HERE.parent
"""The folder that holds the rooms."""

# In front of everything: no package of the standard library has the name of a room.
sys.path.insert(0, str(ROOMS))
