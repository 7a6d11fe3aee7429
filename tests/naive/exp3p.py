"""Exp3.P, the adversarial bandit of S1 section 4.2, step by step as in S1's box."""

import math


class Exp3P:
    """S1's Exp3.P over ``n_arms`` arms (M) and ``horizon`` rounds (T).

    ``gamma="theory"`` and ``alpha="theory"`` take the values of S1's Theorem 1, the only use of ``delta``.
    """

    def __init__(self, n_arms, horizon, gamma, alpha, delta=0.05):
        M, T = n_arms, horizon
        if gamma == "theory":
            gamma = min(3 / 5, 2 * math.sqrt(3 * M * math.log(M) / (5 * T)))
        if alpha == "theory":
            alpha = 2 * math.sqrt(math.log(M * T / delta))
        self.n_arms, self.horizon, self.gamma, self.alpha = M, T, gamma, alpha
        # step 1(a)
        self.d = [math.exp(alpha * gamma / 3 * math.sqrt(T / M)) for _ in range(M)]

    def probabilities(self):
        """Step 2(a): a mixture of the exponential weights and the uniform distribution."""
        total = sum(self.d)
        return [(1 - self.gamma) * d / total + self.gamma / self.n_arms for d in self.d]

    def draw(self, u):
        """Step 2(b), for a uniform u in [0, 1): the first arm whose cumulative probability exceeds u."""
        cumulative = 0.0
        for arm, p in enumerate(self.probabilities()):
            cumulative += p
            if cumulative > u:
                return arm
        return self.n_arms - 1  # the probabilities' sum was rounded to just below 1

    def update(self, arm, reward):
        """Steps 2(d)(1) and 2(d)(2); the bonus has alpha (S1's rShareBoost box misprints gamma)."""
        M, T = self.n_arms, self.horizon
        p = self.probabilities()
        for j in range(M):
            estimate = reward / p[j] if j == arm else 0.0
            bonus = self.alpha / (p[j] * math.sqrt(M * T))
            self.d[j] *= math.exp(self.gamma / (3 * M) * (estimate + bonus))


def regret_bound(n_arms, horizon, delta):
    """S1 eq. (2): what the best fixed arm can be ahead by, with probability at least 1 - delta."""
    M, T = n_arms, horizon
    log_term = math.log(M * T / delta)
    return 4 * math.sqrt(M * T * log_term) + 4 * math.sqrt(5 / 3 * M * T * math.log(M)) + 8 * log_term
