"""Every experiment of the papers that can be rerun, by name.

Modules are imported when an experiment runs, so that listing them costs nothing.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from fuselearn.papers.verdicts import UNTESTED, Effort, Finding, Outcome, reason

PAPERS = {
    "S0": "Barbu, Peng, Seetharaman. Boosting Information Fusion. FUSION 2010.",
    "S1": "Peng, Barbu, Seetharaman, Fan, Wu, Palaniappan. ShareBoost: Boosting for Multi-view Learning with "
    "Performance Guarantees. ECML PKDD 2011.",
    "S2": "Yan, Tešić, Smith. Model-Shared Subspace Boosting for Multi-label Classification. KDD 2007.",
    "S3": "Barbu, Iqbal, Peng. Classifier Fusion Using Shared Sampling Distribution for Boosting. ICDM 2005.",
    "S4": "Windridge, Yan. Kernel Combination via Debiased Object Correspondence Analysis. Information Fusion 27 "
    "(2016).",
}
FERET = (
    "FERET may not be passed on, and S0's kernels of CYGD genes are not included (`load_gene_kernels` reads them). "
    "scikit-image's faces stand in for face detection, the Olivetti faces for glasses, "
    "breast_tcga (LumA against the rest) for the genes; nothing for gender. mfeat and scikit-learn's digits, 5 or more "
    "against less, are added"
)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, or several from the same runs.

    Attributes
    ----------
    name : str
    paper : str
        Key of :data:`PAPERS`.
    reruns : str
        The tables and figures, and what they are about.
    data : str
        The data, and what it stands in for.
    module, function : str
        The function that runs it, from an Effort to an Outcome.
    claims : str or None
        Dict of its claims in the module, for when its data cannot be loaded. None if it needs no data from elsewhere.
    """

    name: str
    paper: str
    reruns: str
    data: str
    module: str
    function: str = "run"
    claims: str | None = None

    def run(self, effort: Effort) -> Outcome:
        """Rerun it; where its data cannot be loaded, the outcome has no tables, and claims that cannot be tested."""
        module = import_module(f"fuselearn.papers.{self.module}")
        try:
            return getattr(module, self.function)(effort)
        # OSError: data is neither in the folder nor can it be fetched. ImportError: a package of an extra is missing.
        except (OSError, ImportError) as error:
            if self.claims is None:
                raise
            findings = [
                Finding(claim, UNTESTED, f"Needs data: {reason(error)}.")
                for claim in getattr(module, self.claims).values()
            ]
            return Outcome([], findings, missing={"its data": reason(error)})


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "noisy-flowers",
            "S0",
            "§3.1: twenty Iris flowers with wrong labels, BSSD against AdaBoost",
            "the paper's own: Iris, of scikit-learn",
            "boosting_studies",
            "run_flowers",
        ),
        Experiment(
            "bssd-noise",
            "S0",
            "tables 1 to 5: BSSD against voting, stacking and SDP, clean and with wrong labels",
            FERET,
            "noise_study",
            "run_bssd",
        ),
        Experiment(
            "bssd-noise-large",
            "S0",
            "tables 1 to 5 on up to 600 objects, SVMs with C = 1: ours beside S0's protocol",
            "as in bssd-noise",
            "noise_study",
            "run_bssd_large",
        ),
        Experiment(
            "shareboost-noise",
            "S1",
            "tables 1 and 2, feature noise: ShareBoost and rShareBoost against six methods, clean and noisy",
            "as in bssd-noise",
            "noise_study",
            "run_shareboost",
        ),
        Experiment(
            "shareboost-noise-large",
            "S1",
            "tables 1 and 2 on up to 600 objects and all of mfeat, SVMs with C = 1: ours beside S1's protocol",
            "as in bssd-noise",
            "noise_study",
            "run_shareboost_large",
        ),
        Experiment(
            "boosting-curves",
            "S1",
            "figures 2 and 3: accuracy over the number of base classifiers",
            "as in bssd-noise",
            "boosting_studies",
            "run_curves",
        ),
        Experiment(
            "bandit-cost",
            "S1",
            "§6: what a round of rShareBoost costs, against one of ShareBoost",
            "as in bssd-noise, and 20,000 made-up objects",
            "boosting_studies",
            "run_cost",
        ),
        Experiment(
            "textures",
            "S3",
            "tables II to XI: boosting with a shared distribution against SVM vote and super-kernel, on textures",
            "VisTex is public by name, but not included (`load_vistex` reads it). Pairs of Describable Textures "
            "(dtd10) and of scikit-image's photographs stand in",
            "textures",
        ),
        Experiment(
            "synthetic-labels",
            "S2",
            "figure 4: test error over the number of stumps, three overlapping labels in the plane",
            "made up as the paper says, with new points for each run, where the paper splits one draw",
            "label_sharing",
            "run_synthetic",
        ),
        Experiment(
            "shared-models",
            "S2",
            "table 2, §4.4 and figures 5 to 8: MSSBoost against five methods, with S2's settings and with our defaults",
            "TRECVID 2005 and the Consumer photographs are not public. yeast, scene, CAL500 and a made-up set stand in",
            "label_sharing",
            "run_real",
        ),
        Experiment(
            "axial-bias",
            "S4",
            "figures 1 and 2: adding pseudo-densities, and deconvolution",
            "the paper's own, made up as it says",
            "axial_bias",
        ),
        Experiment(
            "gaussian-illustration",
            "S4",
            "figures 3 to 5: two Gaussian classes whose ordinates are not matched",
            "made up; the paper prints no parameters",
            "gaussian_illustration",
        ),
        Experiment(
            "unmatched-halves",
            "S4",
            "tables 1 and 2, figures 6 to 12: six UCI sets whose columns are cut into halves that are not matched",
            "the paper's own: ionosphere, heart, iris, pima, sonar and wine",
            "unmatched_halves",
            claims="CLAIMS",
        ),
        Experiment(
            "unmatched-music",
            "S4",
            "§4.3: tags of CAL500 songs whose descriptions are not matched",
            "the paper's songs; its six kernels are not public, 52 cepstral and 16 spectral columns stand in",
            "unmatched_music",
            claims="CLAIMS",
        ),
        Experiment(
            "many-kernels",
            "S4",
            "§4.3: many kernels whose objects are not matched",
            "S4's six kernels are not public; nine kernels of football accounts, clubs merged to two classes, stand in",
            "many_kernels",
            claims="CLAIMS",
        ),
        Experiment(
            "partly-matched",
            "S4",
            "§5 claims, without an experiment, that the method serves where views are missing: ours",
            "mfeat, ten digits, three views",
            "partly_matched",
            claims="CLAIMS",
        ),
    )
}


def experiments_named(name: str) -> list[Experiment]:
    """Return the experiment of a name, or every one for "all".

    Examples
    --------
    >>> [experiment.paper for experiment in experiments_named("textures")]
    ['S3']
    """
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        near = get_close_matches(str(name), ["all", *EXPERIMENTS], n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known are all, {', '.join(EXPERIMENTS)}."
        raise ValueError(f"There is no experiment {name!r}; {hint}")
    return [EXPERIMENTS[name]]
