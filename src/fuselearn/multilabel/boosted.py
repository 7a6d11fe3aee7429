"""The rounds of MSSBoost and NSBoost (S2 Alg. 2)."""

import numpy as np

from fuselearn.multilabel.base import train_all
from fuselearn.multilabel.device_pool import DeviceJointLoss, DevicePool
from fuselearn.multilabel.pool import Pool

REDRAWS = 10
"""How often in a row a slot draws anew because its candidate can serve no label."""


def boosted_rounds(trainer, joint, threads, *, pool_size, significance, shared):
    """Yield (candidate, weights) of each round, without end.

    Slot k of the pool begins with a model learned on label k, or k modulo the number of labels. The one that takes the
    place of a used model is learned on the same label (S2 Alg. 2 step 2c). A pool with fewer slots than labels, which
    S2 does not have, would so never see most labels: there the labels take turns.

    Two rules of ours keep every slot at work. A candidate that can serve no label, by the χ² test or because its own
    is the only one it may serve, is not let in: its slot draws the next generation, at most ten times in a row. And
    when no candidate lowers the loss, the slot with the fewest generations so far is renewed.

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
    labels = np.arange(n_slots) % n_labels  # that the candidate of each slot is learned on
    generations = np.zeros(n_slots, dtype=int)
    next_label = n_slots % n_labels

    def drawn(slots):
        return train_all(trainer, [(slot, int(generations[slot]), int(labels[slot])) for slot in slots], threads)

    def draw_again(slots):
        for _ in range(REDRAWS):
            slots = [slot for slot in slots if pool.is_idle(slot)]
            if not slots:
                break
            generations[slots] += 1
            for slot, candidate in zip(slots, drawn(slots)):
                pool.replace(slot, candidate, threads)

    kind = DevicePool if isinstance(joint, DeviceJointLoss) else Pool
    pool = kind(joint, drawn(range(n_slots)), significance=significance, shared=shared)
    draw_again(range(n_slots))
    while True:
        winner = pool.best(threads)
        if winner is None:
            slot, weights = int(np.argmin(generations)), np.zeros(n_labels)
        else:
            slot, weights = winner
        yield pool.candidates[slot], weights
        pool.labels_changed(np.flatnonzero(weights), threads)
        generations[slot] += 1
        if n_slots < n_labels:
            labels[slot], next_label = next_label, (next_label + 1) % n_labels
        [candidate] = drawn([slot])
        pool.replace(slot, candidate, threads)
        draw_again([slot])
