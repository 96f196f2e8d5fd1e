"""The parts of tools/make_goldens.py, one module per folder of tests/goldens."""
