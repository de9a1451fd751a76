"""Bandits, one a file."""

from sadapt.motivation.bandits.base import Bandit, BanditState, Standing
from sadapt.motivation.bandits.fixed import fixed
from sadapt.motivation.bandits.patient import patient
from sadapt.motivation.bandits.ucb import ucb

__all__ = ["Bandit", "BanditState", "Standing", "fixed", "patient", "ucb"]
