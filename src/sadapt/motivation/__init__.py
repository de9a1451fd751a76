"""The paper, one idea a file: marginals, bandits, normalisation, objectives, the augmented observation, episodes."""
