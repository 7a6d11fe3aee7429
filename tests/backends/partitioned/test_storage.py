"""The memory that rows may take, and arrays in files."""

import numpy as np
import pytest

from fuselearn.backends.partitioned import storage
from fuselearn.backends.partitioned.storage import ArrayStore, memory_limit


@pytest.mark.parametrize(
    ("written", "size"), [("1048576", 2**20), ("2 MiB", 2**21), ("1.5GB", 1_500_000_000), ("3g", 3_000_000_000)]
)
def test_memory_limit(written, size, monkeypatch):
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", written)
    assert memory_limit() == size


@pytest.mark.parametrize("written", ["much", "10 bytes", "-1", "5"])
def test_a_memory_limit_that_is_none(written, monkeypatch):
    monkeypatch.setenv("FUSELEARN_MEMORY_LIMIT", written)
    with pytest.raises(ValueError, match="FUSELEARN_MEMORY_LIMIT must be a size of at least 1 MiB"):
        memory_limit()


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        (
            {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "max", "sys/fs/cgroup/a/memory.max": "7"},
            [7],
        ),
        ({"proc/self/cgroup": "0::/elsewhere", "sys/fs/cgroup/memory.max": "9"}, [9]),
        (
            {
                "proc/self/cgroup": "3:cpu:/\n2:memory,x:/job\n0::/",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "5",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "8",
            },
            [5, 8],
        ),
        ({}, []),
    ],
)
def test_a_container_may_have_less_memory(written, limits, tmp_path, monkeypatch):
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert storage._limits_of_control_groups(tmp_path) == limits
    monkeypatch.delenv("FUSELEARN_MEMORY_LIMIT", raising=False)
    monkeypatch.setattr(storage, "_limits_of_control_groups", lambda: [2**25, 2**70])
    assert memory_limit() == 2**24


def test_arrays_in_files_are_changed_in_place(tmp_path):
    store = ArrayStore()
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    store.put("table", table)
    store.put("nothing", np.empty((0, 2)))
    assert store.n_bytes == table.nbytes
    store.move_to(tmp_path / "folder")
    assert store.n_bytes == 0
    store.get("table")[1, 1] = 50
    assert store.get("table")[1].tolist() == [4, 50, 6, 7]
    assert store.get("table").dtype == np.int32
    assert store.get("nothing").shape == (0, 2)
    with pytest.raises(KeyError, match="else"):
        store.get("else")


def test_a_file_is_mapped_once_for_many_reads(tmp_path):
    store = ArrayStore(tmp_path)
    store.put("numbers", np.arange(3.0))
    before = store.get("numbers")
    assert store.get("numbers") is not before
    with store.mapped():
        first = store.get("numbers")
        assert store.get("numbers") is first
        # A new array of the name, also a longer one, leaves what was read before as it is.
        store.put("numbers", np.zeros(100_000))
        assert len(store.get("numbers")) == 100_000
        assert first.tolist() == before.tolist() == [0.0, 1.0, 2.0]
    assert store.get("numbers") is not first
