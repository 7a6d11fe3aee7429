"""The rounds of MSSBoost and NSBoost (S2 Alg. 2)."""

import numpy as np

from fuselearn.multilabel.base import train_all
from fuselearn.multilabel.pool import Pool


def boosted_rounds(trainer, joint, threads, *, pool_size, significance, shared):
    """Yield (candidate, weights) of each round, without end.

    Slot k of the pool begins with a model learned on label k, or k modulo the number of labels. The one that takes the
    place of a used model is learned on the same label (S2 Alg. 2 step 2c). A pool with fewer slots than labels, which
    S2 does not have, would so never see most labels: there the labels take turns.

    Parameters
    ----------
    trainer : Trainer
    joint : JointLoss
        The caller adds a round's candidate to it before asking for the next.
    threads : Threads
    pool_size : int or None
        None is the number of labels (S2 Alg. 2 step 1).
    significance : float
    shared : bool
    """
    n_labels = len(joint.signs)
    n_slots = n_labels if pool_size is None else int(pool_size)
    first = [(slot, 0, slot % n_labels) for slot in range(n_slots)]
    pool = Pool(joint, train_all(trainer, first, threads), significance=significance, shared=shared)
    generations = np.zeros(n_slots, dtype=int)
    next_label = n_slots % n_labels
    while True:
        slot, weights = pool.best(threads)
        candidate = pool.candidates[slot]
        yield candidate, weights
        pool.labels_changed(np.flatnonzero(weights), threads)
        generations[slot] += 1
        label = candidate.source_label
        if n_slots < n_labels:
            label, next_label = next_label, (next_label + 1) % n_labels
        pool.replace(slot, trainer.train(slot, int(generations[slot]), label, threads), threads)
