"""Ids of objects that come in parts, and those that look the same."""

import pytest

from fuselearn.data.object_ids import ObjectIds, SeenIds, matching_rows


@pytest.mark.parametrize("parts", [[["a", "a "]], [["a"], ["b", "a "]], [["a "], ["b", "a"]], [["a "], ["b"], [" a"]]])
def test_ids_that_look_the_same_are_refused_in_whatever_part_they_come(parts):
    seen = SeenIds()
    for part in parts[:-1]:
        seen.add(part, "data.csv", "id")
    with pytest.raises(ValueError, match=r"data\.csv has two ids that look the same in the column 'id'"):
        seen.add(parts[-1], "data.csv", "id")


def test_ids_of_parts_are_distinct():
    seen = SeenIds()
    for part in (["a ", "b"], ["c", "A"], []):
        seen.add(part, "data.csv", "id")
    assert list(seen.texts) == ["a ", "b", "c", "A"]
    with pytest.raises(ValueError, match="more than one row of 1 id in the column 'id': 'b'"):
        seen.add(["d", "b"], "data.csv", "id")


def test_ids_of_parts_are_in_the_order_of_the_rows():
    """Sets of texts have another order in each process, which a message would show."""
    seen, texts = SeenIds(), [f"{number * 7 % 100:03d}" for number in range(100)]
    for start in range(0, 100, 30):
        seen.add(texts[start : start + 30], "data.csv", "id")
    assert list(seen.texts) == texts


def test_an_id_in_two_spellings_of_which_a_view_has_one_is_refused():
    rna = ObjectIds.of(["P3", "P4"], "rna.csv", "id")
    with pytest.raises(ValueError, match=r"1 id is spelled differently in data\.csv and rna\.csv: 'p3' and 'P3'"):
        matching_rows(ObjectIds.of(["P3", "p3"], "data.csv", "id"), rna, rna.places())
