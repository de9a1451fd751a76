"""Runs on disk: folder, configuration, metrics, checkpoints, resuming, and what can be done with a trained agent."""
