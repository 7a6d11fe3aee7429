"""Which worker of a cluster is to hold which parts: as many for each thread, and neighbours together."""

from heapq import heapify, heapreplace


def fair_counts(n_parts, threads, held=None, least=None):
    """Number of parts that each worker is to hold.

    Parts are dealt one at a time to the worker that then has the fewest for each of its threads; of equal ones to one
    that holds the part already. So what was dealt once is not dealt anew, unless workers came or went.

    Parameters
    ----------
    n_parts : int
        To deal out.
    threads : dict of address to int
    held : dict of address to int, default=None
        Number of parts that workers hold now.
    least : dict of address to int, default=None
        Number of parts that they keep in any case, not among `n_parts`.

    Returns
    -------
    dict of address to int
        Those of `least` are counted.

    Examples
    --------
    >>> fair_counts(5, {"a": 1, "b": 1, "c": 2})
    {'a': 1, 'b': 1, 'c': 3}
    """
    held = held or {}
    counts = {address: (least or {}).get(address, 0) for address in threads}

    def after_one_more(address):
        count = counts[address] + 1
        return count / threads[address], count > held.get(address, 0), address

    queue = [after_one_more(address) for address in counts]
    heapify(queue)
    for _ in range(n_parts):
        address = queue[0][2]
        counts[address] += 1
        heapreplace(queue, after_one_more(address))
    return counts


def shares(numbers, threads, held):
    """Parts that are held by nobody, dealt out.

    Parameters
    ----------
    numbers : sequence of int
    threads : dict of address to int
    held : dict of address to int
        Number of parts that each worker holds.

    Returns
    -------
    dict of address to list of int
        Without workers that get nothing.
    """
    held = {address: held.get(address, 0) for address in threads}
    counts = fair_counts(len(numbers), threads, held, least=held)
    numbers, dealt = sorted(numbers), {}
    for address in sorted(counts):
        room = counts[address] - held[address]
        if room:
            dealt[address], numbers = numbers[:room], numbers[room:]
    return dealt


def surplus(homes, threads):
    """Parts that should go to a worker that has fewer for each of its threads.

    Parameters
    ----------
    homes : dict of part number to address
        Of workers that are there.
    threads : dict of address to int

    Returns
    -------
    list of int
    """
    parts = {address: [] for address in threads}
    for number in sorted(homes):
        parts[homes[number]].append(number)
    counts = fair_counts(len(homes), threads, {address: len(some) for address, some in parts.items()})
    return [number for address, some in parts.items() for number in some[counts[address] :]]
