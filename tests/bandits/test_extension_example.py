"""The example of a bandit policy in CONTRIBUTING: all code that a new one needs."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fuselearn import ShareBoostClassifier
from fuselearn.bandits import Policy, PolicyState


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """The arm of the largest mean reward, or with probability `epsilon` any arm."""

    epsilon: float = 0.1

    def check(self):
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"EpsilonGreedy's epsilon must be in [0, 1]; got {self.epsilon!r}.")

    def start(self, n_arms, horizon, seed):
        return EpsilonGreedyState(n_arms, self.epsilon, np.random.default_rng(seed))


class EpsilonGreedyState(PolicyState):
    """Rewards of the arms so far."""

    def __init__(self, n_arms, epsilon, generator):
        self.epsilon, self.generator = epsilon, generator
        self.rewards, self.pulls = np.zeros(n_arms), np.zeros(n_arms)

    @property
    def probabilities(self):
        best = np.argmax(self.rewards / np.maximum(self.pulls, 1))
        chances = np.full(len(self.pulls), self.epsilon / len(self.pulls))
        chances[best] += 1 - self.epsilon
        return chances

    def pull(self):
        return [int(self.generator.choice(len(self.pulls), p=self.probabilities))]

    def update(self, arm, reward):
        self.rewards[arm] += reward
        self.pulls[arm] += 1


def test_a_policy_chooses_the_views():
    X, y = load_iris(return_X_y=True)
    views = {"sepal": [0, 1], "petal": [2, 3]}
    model = ShareBoostClassifier(views=views, view_policy=EpsilonGreedy(0.3), n_estimators=30, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert set(model.winning_views_) == {0, 1}
    assert model.arm_probabilities_.shape == (model.n_iter_, 2)


def test_its_settings_are_checked_before_the_fit():
    with pytest.raises(ValueError, match="epsilon must be in"):
        ShareBoostClassifier(view_policy=EpsilonGreedy(2)).fit([[0.0], [1.0]], [0, 1])


def test_the_best_arm_is_found():
    state = EpsilonGreedy(0.2).start(3, 100, np.random.SeedSequence(0))
    pulled = []
    for _ in range(300):
        [arm] = state.pull()
        pulled.append(arm)
        state.update(arm, 0.9 if arm == 2 else 0.1)
    assert np.mean(np.array(pulled[100:]) == 2) > 0.7
