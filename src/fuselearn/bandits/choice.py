"""The `view_policy` argument, spelled out."""

from difflib import get_close_matches

from fuselearn.bandits.best import Best
from fuselearn.bandits.exp3p import Exp3P
from fuselearn.bandits.protocol import Policy
from fuselearn.bandits.round_robin import RoundRobin
from fuselearn.bandits.uniform import UniformRandom

BY_NAME = {"best": Best, "exp3p": Exp3P, "uniform": UniformRandom, "round_robin": RoundRobin}


def as_policy(view_policy):
    """The policy that a `view_policy` argument means.

    Examples
    --------
    >>> as_policy("exp3p")
    Exp3P(gamma=0.3, alpha=0.15, delta=0.05, horizon=None)
    """
    if isinstance(view_policy, Policy):
        return view_policy
    if isinstance(view_policy, str) and view_policy in BY_NAME:
        return BY_NAME[view_policy]()
    near = get_close_matches(str(view_policy), BY_NAME, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"view_policy must be one of {list(BY_NAME)} or a policy of fuselearn.bandits; got {view_policy!r}.{hint}"
    )
