import importlib
import pkgutil

ROOMS = ("api", "planner", "activities", "workflows", "simulator", "worker")
OF_A_FEW = {"planner.lifecycle.atlas.lines_of": 2}
"""How many different arguments there are of a function that keeps every result: there are two lifecycles."""


def cached_functions():
    """Return all functions of the rooms that keep their results, by module and name."""
    found = {}
    for room in map(importlib.import_module, ROOMS):
        for one in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not one.name.endswith("__main__"):
                module = importlib.import_module(one.name)
                here = {k: v for k, v in vars(module).items() if getattr(v, "__module__", "") == one.name}
                found |= {f"{one.name}.{name}": item for name, item in here.items() if hasattr(item, "cache_info")}
    return found


def test_no_cache_of_a_function_grows_without_end():
    """A worker lives for months: what it keeps for ever must be few."""
    cached = cached_functions()
    assert len(cached) >= 4
    endless = {name for name, one in cached.items() if one.cache_info().maxsize is None}
    assert endless == set(OF_A_FEW)
    for name, most in OF_A_FEW.items():
        assert cached[name].cache_info().currsize <= most
