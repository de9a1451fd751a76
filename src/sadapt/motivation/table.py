"""The marginals, feedbacks and bandits that come with the program."""

from __future__ import annotations

from sadapt.motivation.bandits.cusum import CusumSettings, cusum
from sadapt.motivation.bandits.d3rb import D3RBSettings, d3rb
from sadapt.motivation.bandits.discounted import DiscountedSettings, discounted
from sadapt.motivation.bandits.race import RaceSettings, race
from sadapt.motivation.bandits.regimes import RegimesSettings, regimes
from sadapt.motivation.bandits.ucb import UCBSettings, from_settings
from sadapt.motivation.feedback import FeedbackSettings, of_entropy, of_surprise
from sadapt.motivation.marginals.auto import AutoSettings, auto
from sadapt.motivation.marginals.bernoulli import BernoulliSettings, of_bits
from sadapt.motivation.marginals.categorical import CategoricalSettings, categorical
from sadapt.motivation.marginals.features import GaussianFeatureSettings, on_features
from sadapt.motivation.marginals.gaussian import GaussianSettings, of_numbers
from sadapt.motivation.marginals.kt import kt
from sadapt.motivation.marginals.neighbours import NeighbourSettings, nearest_neighbours
from sadapt.motivation.marginals.parts import MixtureSettings, of_parts
from sadapt.registry import register

register("marginal", "auto", auto, AutoSettings)
register("marginal", "bernoulli", of_bits, BernoulliSettings)
register("marginal", "gaussian", of_numbers, GaussianSettings)
register("marginal", "kt", kt)
register("marginal", "categorical", categorical, CategoricalSettings)
register("marginal", "mixture", of_parts, MixtureSettings)
register("marginal", "features", on_features, GaussianFeatureSettings)
register("marginal", "neighbours", nearest_neighbours, NeighbourSettings)

register("feedback", "entropy", of_entropy, FeedbackSettings)
register("feedback", "surprise", of_surprise, FeedbackSettings)

register("bandit", "ucb", from_settings, UCBSettings)
register("bandit", "d3rb", d3rb, D3RBSettings)
register("bandit", "race", race, RaceSettings)
register("bandit", "discounted", discounted, DiscountedSettings)
register("bandit", "cusum", cusum, CusumSettings)
register("bandit", "regimes", regimes, RegimesSettings)
