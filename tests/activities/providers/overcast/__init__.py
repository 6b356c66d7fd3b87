"""A provider as another package brings it: see `tests/activities/providers/test_further_package.py`."""
