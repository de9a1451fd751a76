"""Speed, measured on this machine: worlds, learners and their peers, as ratios within one run on one core."""
