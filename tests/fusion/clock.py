"""A clock for tests of limits of time."""


class Clock:
    """Stands in for the module `time`; only `after` moves it on."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def after(self, seconds, work):
        def slow(*arguments, **settings):
            result = work(*arguments, **settings)
            self.now += seconds
            return result

        return slow
