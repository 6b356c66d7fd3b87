.venv/bin/python:
	python3 -m venv .venv
