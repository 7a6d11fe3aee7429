"""Run a generator that asks questions, and answer them.

Learners are written this way: they ask for sums over rows, and never know where the rows are.
"""


def drive(asking, answer):
    """Answer each question that a generator yields, and return what it ends with.

    Examples
    --------
    >>> def mean():
    ...     total = yield sum
    ...     return total / (yield len)
    >>> drive(mean(), lambda question: question([1, 2, 6]))
    3.0
    """
    try:
        question = next(asking)
        while True:
            question = asking.send(answer(question))
    except StopIteration as end:
        return end.value


def drive_together(asking, answer_all):
    """Drive several generators side by side: whoever answers gets their questions at once.

    Parameters
    ----------
    asking : dict of name to generator
    answer_all : callable
        Given a dict of name to question, returns one of name to answer. It may leave a name out: that generator is not
        asked any further, and its result is None.

    Returns
    -------
    dict of name to result
    """
    results = dict.fromkeys(asking)
    questions = {}

    def step(name, answer):
        try:
            questions[name] = asking[name].send(answer)
        except StopIteration as end:
            results[name] = end.value

    for name in asking:
        step(name, None)
    while questions:
        answers = answer_all(questions)
        questions = {}
        for name, answer in answers.items():
            step(name, answer)
    return results
