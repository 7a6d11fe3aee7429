"""Shapley values of plain games, exact and by drawn orders."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fuselearn.explanation.column_terms import ColumnTerms, function_terms, linear_terms
from fuselearn.explanation.games import shapley_values, shapley_values_of_rows
from tests.naive.shapley import shapley_by_subsets


def random_game(seed, n_players, n_rows=2, n_outputs=2):
    table = np.random.default_rng(seed).normal(size=(2**n_players, n_rows, n_outputs))
    return lambda members: table[int(members @ 2 ** np.arange(n_players))]


@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_all_sets_equal_the_definition(seed, n_players):
    value_of = random_game(seed, n_players)

    def of_set(members):
        mask = np.zeros(n_players, dtype=bool)
        mask[list(members)] = True
        return value_of(mask)

    game = shapley_values(value_of, n_players, most_exact=5, n_pairs=1)
    if n_players:
        assert_allclose(game.values, shapley_by_subsets(of_set, n_players).swapaxes(0, 1), atol=1e-12)
    assert game.errors is None


def test_drawn_orders_add_up_and_state_their_error():
    value_of = random_game(0, 8, n_rows=20)
    exact = shapley_values(value_of, 8, most_exact=8, n_pairs=1)
    drawn = shapley_values(value_of, 8, most_exact=2, n_pairs=40)
    assert_allclose(drawn.empty + drawn.values.sum(axis=1), value_of(np.ones(8, dtype=bool)), atol=1e-12)
    away = np.abs(drawn.values - exact.values) / drawn.errors
    assert 0.5 < np.sqrt((away**2).mean()) < 1.5


def test_a_function_is_explained_against_its_reference():
    X, reference = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([0.0, 1.0, 0.0, 0.5])
    terms = function_terms(
        lambda rows: (rows[:, [0]] * rows[:, [1]] + rows[:, [2]]) * rows[:, [3]],
        X,
        reference,
        np.array([0, 1, 2, -1]),
        4,
    )
    # Column 3 is fixed at 4; columns 0 and 1 share 2 - 0, of which 0 alone would bring 1.
    assert_allclose(terms.base, [[0.0]])
    assert_allclose(terms.values[0, :, 0], [6.0, 2.0, 12.0, 0.0])


def test_terms_are_added_with_numbers_and_matrices():
    terms = linear_terms(np.array([[1.0, 2.0]]), np.eye(2), np.array([0.5, 0.0]), np.array([0, -1]), 3)
    assert terms.base.tolist() == [[0.5, 2.0]]
    total = ColumnTerms.zeros(1, 3, 2)
    total.add(terms, 2.0)
    total.add(ColumnTerms(terms.base, terms.values, np.ones((1, 3, 2))), np.array([[0.0, -1.0], [0.0, 0.0]]))
    assert total.base.tolist() == [[1.0, 3.5]]
    assert total.values[0, 0].tolist() == [2.0, -1.0]
    assert total.errors[0, 0].tolist() == [0.0, 1.0]


@given(st.integers(0, 2**32 - 1))
def test_rows_with_players_of_their_own_are_those_of_separate_games(seed):
    n_rows, n_players = 9, 4
    value_of = random_game(seed, n_players, n_rows)
    present = np.random.default_rng(seed).uniform(size=(n_rows, n_players)) < 0.6
    valued = []

    def value_of_rows(rows, members):
        valued.append(members.tolist())
        return value_of(members)[rows]

    games = shapley_values_of_rows(value_of_rows, present)
    for row in range(n_rows):
        there = np.flatnonzero(present[row])

        def of_set(members, row=row, there=there):
            mask = np.zeros(n_players, dtype=bool)
            mask[there[list(members)]] = True
            return value_of(mask)[row]

        expected = np.zeros((n_players, 2))
        if len(there):
            expected[there] = shapley_by_subsets(of_set, len(there))
        assert_allclose(games.values[row], expected, atol=1e-12)
    assert len(valued) == len({tuple(members) for members in valued}) <= 2**n_players
