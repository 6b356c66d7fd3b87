import importlib
import pkgutil

ROOMS = ("api", "planner", "activities", "workflows", "simulator", "worker")


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
    """A worker lives for months, and what it keeps must have an end."""
    cached = cached_functions()
    assert len(cached) >= 3
    assert {name for name, one in cached.items() if one.cache_info().maxsize is None} == set()
