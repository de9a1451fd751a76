"""Drivers that compose world, motivation and learner into a training program."""
