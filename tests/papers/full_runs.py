"""Outcomes of full runs in which nothing is fitted: scores are random, claims and figures are those of the code.

Verdicts, numbers and rows mean nothing. Two runs are enough, since no claim depends on their number.
"""

import numpy as np

from fuselearn.evaluation.cells import ONE_VIEW, Protocol, Task
from fuselearn.papers import (
    boosting_studies,
    gaussian_illustration,
    label_sharing,
    many_kernels,
    noise_study,
    partly_matched,
    textures,
    unmatched_halves,
    unmatched_music,
)
from fuselearn.papers.experiments import EXPERIMENTS
from fuselearn.papers.model_shared_boosting import ENSEMBLES, METHODS, Comparison, Run
from fuselearn.papers.paired_runs import LABELS_OF_ONE_VIEW, STANDS_FOR, Scores, ViewSet
from fuselearn.papers.verdicts import Effort, Outcome

RUNS = 2
RNG = np.random.default_rng(0)
VIEWS = {name: np.array([column]) for column, name in enumerate(("red", "green", "blue"))}
MODELS, LABELS = 100, 4


def full_outcome(name: str, monkeypatch) -> Outcome:
    """Return the outcome of an experiment, with everything that takes time replaced."""
    for module in (noise_study, boosting_studies):
        monkeypatch.setattr(module, "noise_sets", lambda **settings: ([_view_set(each) for each in STANDS_FOR], {}))
    for module in (noise_study, textures):
        monkeypatch.setattr(module, "score_methods", _scores)
    monkeypatch.setattr(textures, "_pairs", lambda most: ([_view_set("pair")], {}))
    monkeypatch.setattr(boosting_studies, "_flower_draw", lambda seed, number: RNG.random((2, 3)))
    monkeypatch.setattr(boosting_studies, "_curves", lambda *arguments: RNG.random((3, boosting_studies.ROUNDS)))
    monkeypatch.setattr(boosting_studies, "_costs", lambda *arguments: 1 + RNG.random((2, 3)))
    monkeypatch.setattr(label_sharing, "synthetic_curves", lambda **settings: _curves(20))
    monkeypatch.setattr(label_sharing, "_loaded_set", lambda name: (np.zeros((5, 2)), np.zeros((5, LABELS)), []))
    monkeypatch.setattr(label_sharing, "compare_methods", _comparison)
    monkeypatch.setattr(unmatched_halves, "fetch_views", lambda name: None)
    monkeypatch.setattr(unmatched_halves, "unmatched_halves", _halves)
    monkeypatch.setattr(unmatched_music, "unmatched_music", _music)
    monkeypatch.setattr(many_kernels, "many_kernels", lambda **settings: _kernels())
    monkeypatch.setattr(partly_matched, "partly_matched", lambda **settings: _matched())
    draws = gaussian_illustration.gaussian_illustration
    monkeypatch.setattr(gaussian_illustration, "GRID", 3)
    monkeypatch.setattr(gaussian_illustration, "gaussian_illustration", lambda **settings: draws(trials=RUNS))
    return EXPERIMENTS[name].run(Effort(runs=RUNS))


def _view_set(name):
    return ViewSet(name, RNG.random((10, 3)), np.arange(10) % 2, VIEWS)


def _scores(data, methods, *, noise=0.0, noise_views="all", **settings):
    """Return scores of each method, for each kind of labels that it would be trained on."""
    views = noise_views if noise_views == "all" else list(noise_views)
    task = Task(data.X, data.y, data.views, None, Protocol(RUNS, 0.6), noise, views, False, "accuracy", 0)
    names = [
        f"{method.name}, {LABELS_OF_ONE_VIEW}" if kind == ONE_VIEW else method.name
        for method in methods
        for kind in task.kinds(method)
    ]
    return Scores(data.name, {name: RNG.random(RUNS) for name in names}, 2 / 3)


def _curves(n_models):
    return {name: RNG.random((1, n_models)) for name in ENSEMBLES}


def _comparison(X, Y, *, name, methods=METHODS, **settings):
    def run():
        by_method = {method: RNG.random(LABELS) for method in methods}
        curves = {method: RNG.random((MODELS, LABELS)) for method in ENSEMBLES}
        numbers = [{method: int(RNG.integers(1, 9)) for method in methods} for _ in range(4)]
        sources = np.arange(MODELS) % LABELS
        weights = RNG.random((MODELS, LABELS))
        return Run(by_method, curves, *numbers, (0.2, 0.1), RNG.random(MODELS), weights, sources)

    return Comparison(name, [f"label{label}" for label in range(LABELS)], RNG.random(LABELS), [run(), run()])


def _halves(datasets, **settings):
    shape = (len(datasets), 5, 3)
    scores = [RNG.random((*shape, len(unmatched_halves.FUSIONS))) for _ in range(2)]
    walks = RNG.random((*shape, 2, 2))
    distances = RNG.random(shape[:2])
    return unmatched_halves.UnmatchedHalves(
        tuple(datasets), unmatched_halves.FUSIONS, "halves", *scores, distances, walks
    )


def _music(**settings):
    fusions = (*unmatched_halves.FUSIONS, unmatched_music.AVERAGE)
    scores = RNG.random((2, len(unmatched_music.TAGS), RUNS, len(fusions)))
    return unmatched_music.UnmatchedMusic(unmatched_music.TAGS, fusions, *scores, RNG.random(2))


def _kernels():
    return many_kernels.ManyKernels(many_kernels.FUSIONS, RNG.random((RUNS, len(many_kernels.FUSIONS))))


def _matched():
    shares = partly_matched.SHARES
    matched, absent = RNG.random((2, len(shares), RUNS)), RNG.random((2, 3, 3, RUNS))
    return partly_matched.PartlyMatched(shares, matched, partly_matched.VIEWS, absent, "")
