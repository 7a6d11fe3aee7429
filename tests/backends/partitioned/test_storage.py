"""The memory that rows may take."""

import pytest

from fuselearn.backends.partitioned import storage
from fuselearn.backends.partitioned.storage import memory_limit


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
