"""Learners: the paper's DQN and a fast PQN, the networks they train and the replay they remember with."""
