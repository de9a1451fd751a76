"""Surprise-adaptive intrinsic motivation."""

from sadapt.gym.registration import register_all

__version__ = "0.1.0"

register_all()
