"""Damaged files and wrong command lines against the program: `python -m tools.fuzz --seed 7 --inputs 2000`."""
