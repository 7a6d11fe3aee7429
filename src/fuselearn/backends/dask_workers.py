"""The workers of a Dask cluster that a run can count on."""

import time

WAIT_FOR_WORKERS = 60.0
"""Seconds to wait for a worker when none is left."""
PAUSED_TOO_LONG = 30.0
"""Seconds after which a worker that Dask has paused, since its memory is nearly full, counts as lost."""


class Workers:
    """Who is there, as of the last look.

    Dask pauses a worker when its process takes most of its memory (80 % by default): it begins no task any more. That
    may pass. If it does not, the parts that it holds are what fills it, and it would be waited for in vain. From then
    on nothing is given to it in this run.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    threads : dict of address to int
        Number of threads of the workers that are there.
    """

    def __init__(self, client):
        self._client = client
        self.threads = {}
        self._limits = {}
        self._paused, self._too_small = {}, set()
        self._running = set()

    def look(self):
        """Look who is there; returns the addresses."""
        now = time.monotonic()
        told = self._client.scheduler_info(n_workers=-1)["workers"]
        paused = {address for address, one in told.items() if one["status"] == "paused"}
        self._paused = {address: self._paused.get(address, now) for address in paused}
        self._too_small |= {address for address, since in self._paused.items() if now - since >= PAUSED_TOO_LONG}
        self._limits = {address: one["memory_limit"] for address, one in told.items()}
        self.threads = {address: one["nthreads"] for address, one in told.items() if address not in self._too_small}
        self._running = {address for address in self.threads if told[address]["status"] == "running"}
        return set(self.threads)

    def fit_for_more(self):
        """Dict of address to threads of the workers that can be given parts, in the order of their addresses."""
        return {address: self.threads[address] for address in sorted(self._running)}

    def wait_for_one(self, patience):
        """As `fit_for_more`, once there is one; an error where none comes.

        Parameters
        ----------
        patience : float
            Seconds between two looks.
        """
        end = time.monotonic() + WAIT_FOR_WORKERS
        while time.monotonic() < end:
            self.look()
            if self._running:
                return self.fit_for_more()
            time.sleep(patience)
        if self._paused or self._too_small:
            raise RuntimeError(
                "The workers of the Dask cluster were paused for too long, since the rows fill their memory "
                f"({self.memory()}), and there are no others. Use more workers or workers with more memory, fewer rows "
                "or columns, or Parquet files. With checkpoint=..., the same call goes on from here."
            )
        raise RuntimeError(
            f"The Dask cluster has no worker left, and none came within {WAIT_FOR_WORKERS:.0f} seconds. With "
            "checkpoint=..., the same call goes on from here."
        )

    def memory(self):
        """Limits of the workers' memory, in words."""
        limits = sorted({limit for limit in self._limits.values() if limit})
        if not limits:
            return "no worker has a memory limit"
        sizes = [f"{limit / 2**30:.3g} GiB" for limit in limits]
        return f"their memory limit is {sizes[0] if len(sizes) == 1 else f'from {sizes[0]} to {sizes[-1]}'}"
