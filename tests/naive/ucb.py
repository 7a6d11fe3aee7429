"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002, figure 1), the stochastic bandit that S1 names, and rewards per cost."""

import math


class UCB1:
    """Play each machine once; then the one of the largest mean + sqrt(exploration ln(plays) / plays of it)."""

    def __init__(self, n_arms, exploration=2.0):
        self.exploration = exploration
        self.rewards = [[] for _ in range(n_arms)]

    def pull(self):
        for arm, seen in enumerate(self.rewards):
            if not seen:
                return arm
        plays = sum(len(seen) for seen in self.rewards)
        bounds = []
        for seen in self.rewards:
            bounds.append(sum(seen) / len(seen) + math.sqrt(self.exploration * math.log(plays) / len(seen)))
        return next(arm for arm, bound in enumerate(bounds) if bound >= max(bounds) - 1e-12)

    def update(self, arm, reward):
        self.rewards[arm].append(reward)


def value(Z, kind, costs=None, arm=None):
    """A round's worth: 1 - Z (S1 eq. 8), or min(1, -ln Z) [6 of S1]; per cost, in units of the least cost."""
    reward = 1 - Z if kind == "loss" else min(1.0, -math.log(Z)) if Z > 0 else 1.0
    return reward if costs is None else reward / costs[arm] * min(costs)
