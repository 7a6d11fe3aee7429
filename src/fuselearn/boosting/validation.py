"""Check what the user gave, before any work is done. Errors name the argument and what would be right."""

from fuselearn.settings import check_choice, check_count, check_flag, check_jobs, check_positive

ERRORS = ("training", "out_of_bag")


def check_settings(model):
    """Refuse settings of a boosting classifier that mean nothing."""
    check_count("n_estimators", model.n_estimators)
    check_positive("learning_rate", model.learning_rate)
    check_flag("resample", model.resample)
    check_flag("warm_start", model.warm_start)
    check_jobs(model.n_jobs)
    check_count("verbose", model.verbose, least=0)
    check_choice("error", model.error, ERRORS)
    if model.error == "out_of_bag" and not model.resample:
        raise ValueError("error='out_of_bag' needs resample=True: without it no row is left out of a fit.")
