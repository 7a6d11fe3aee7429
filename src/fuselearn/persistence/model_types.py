"""Types that a saved model may hold: fuselearn's own by public ids, plain ones, and others that the caller trusts.

- A file names a type of ours by its public id, never by the module that defines it, so that the module can move without
  orphaning files. `DEFINED_IN` says where the class of an id is defined now, as text: nothing is imported to read it.
  An id never changes once it was released: when a class is moved or renamed, only the right-hand side does.
- Arrays, sparse matrices and NumPy's random generators are plain: what a file says of them is checked before compiled
  code reads it. NumPy takes a position within the state of a generator as it is given, and reads there.
- Types of other packages are built only if the caller trusts them by name (`Trust`). Along with any type of
  scikit-learn comes what its estimators are made of (`PARTS`), since only they can make use of it.
"""

import hashlib
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal

import numpy as np
import sklearn

from fuselearn.typing import AnyArray

DEFINED_IN: dict[str, str] = {
    # Estimators
    "AugmentedKernelClassifier": "fuselearn.kernels.augmented:AugmentedKernelClassifier",
    "ConcatenatedClassifier": "fuselearn.ensembles.concatenated:ConcatenatedClassifier",
    "ConcatenatedRegressor": "fuselearn.ensembles.view_regressors:ConcatenatedRegressor",
    "FusionClassifier": "fuselearn.fusion.fusion_classifier:FusionClassifier",
    "FusionRegressor": "fuselearn.fusion.fusion_regressor:FusionRegressor",
    "IndependentBoostClassifier": "fuselearn.boosting.independent:IndependentBoostClassifier",
    "LabelConsensus": "fuselearn.consensus.label_consensus:LabelConsensus",
    "MKLClassifier": "fuselearn.kernels.mkl:MKLClassifier",
    "MSSBoostClassifier": "fuselearn.multilabel.mssboost:MSSBoostClassifier",
    "NSBoostClassifier": "fuselearn.multilabel.nsboost:NSBoostClassifier",
    "RSBagClassifier": "fuselearn.multilabel.rsbag:RSBagClassifier",
    "ShareBoostClassifier": "fuselearn.boosting.share:ShareBoostClassifier",
    "ShareGradientBoostingClassifier": "fuselearn.boosting.gradient.classifier:ShareGradientBoostingClassifier",
    "ShareGradientBoostingRegressor": "fuselearn.boosting.gradient.regressor:ShareGradientBoostingRegressor",
    "SuperKernelClassifier": "fuselearn.ensembles.super_kernel:SuperKernelClassifier",
    "TableClassifier": "fuselearn.tables.table_classifier:TableClassifier",
    "TableRegressor": "fuselearn.tables.table_regressor:TableRegressor",
    "TomographicClassifier": "fuselearn.kernels.tomographic:TomographicClassifier",
    "ViewStackingClassifier": "fuselearn.ensembles.view_stacking:ViewStackingClassifier",
    "ViewStackingRegressor": "fuselearn.ensembles.view_regressors:ViewStackingRegressor",
    "ViewVotingClassifier": "fuselearn.ensembles.voting:ViewVotingClassifier",
    "ViewVotingRegressor": "fuselearn.ensembles.view_regressors:ViewVotingRegressor",
    # Policies, and what a boosting run recorded
    "bandits.Best": "fuselearn.bandits.best:Best",
    "bandits.Exp3P": "fuselearn.bandits.exp3p:Exp3P",
    "bandits.RoundRobin": "fuselearn.bandits.round_robin:RoundRobin",
    "bandits.UCB": "fuselearn.bandits.ucb:UCB",
    "bandits.UniformRandom": "fuselearn.bandits.uniform:UniformRandom",
    "boosting.BoostedTrees": "fuselearn.boosting.gradient.tree_format:BoostedTrees",
    "boosting.GradientTree": "fuselearn.boosting.gradient.tree_format:GradientTree",
    "boosting.Round": "fuselearn.boosting.rounds:Round",
    "boosting.RunSettings": "fuselearn.boosting.rounds:RunSettings",
    "boosting.Trace": "fuselearn.boosting.rounds:Trace",
    "boosting.Update": "fuselearn.boosting.rounds:Update",
    # Weak learners, their plans for a view, and their hypotheses
    "learners.AsGiven": "fuselearn.learners.sklearn_learner:AsGiven",
    "learners.Binning": "fuselearn.learners.binning:Binning",
    "learners.ConstantHypothesis": "fuselearn.learners.protocol:ConstantHypothesis",
    "learners.EstimatorHypothesis": "fuselearn.learners.sklearn_learner:EstimatorHypothesis",
    "learners.GaussianNB": "fuselearn.learners.score_learners:GaussianNB",
    "learners.LeastSquares": "fuselearn.learners.score_learners:LeastSquares",
    "learners.ScoreHypothesis": "fuselearn.learners.score_learners:ScoreHypothesis",
    "learners.SklearnLearner": "fuselearn.learners.sklearn_learner:SklearnLearner",
    "learners.Standardisation": "fuselearn.learners.score_learners:Standardisation",
    "learners.Stump": "fuselearn.learners.tree:Stump",
    "learners.Tree": "fuselearn.learners.tree:Tree",
    "learners.TreeHypothesis": "fuselearn.learners.tree_growth:TreeHypothesis",
    # Parts of the other estimators
    "classifiers.ConstantClassifier": "fuselearn.classifiers.fitted_classifiers:ConstantClassifier",
    "classifiers.FittedSVC": "fuselearn.classifiers.fitted_classifiers:FittedSVC",
    "classifiers.ViewModel": "fuselearn.classifiers.view_model:ViewModel",
    "data.Categories": "fuselearn.data.categories:Categories",
    "fusion.BoostedTreesModel": "fuselearn.fusion.base_models.boosted_trees:BoostedTreesModel",
    "fusion.Calibration": "fuselearn.fusion.pattern_calibration:PatternCalibration",
    "fusion.CrossFittedModel": "fuselearn.fusion.base_models.cross_fitted:CrossFittedModel",
    "fusion.CrossFittedRegressors": "fuselearn.fusion.base_models.cross_fitted_regressors:CrossFittedRegressors",
    "fusion.Forest": "fuselearn.fusion.base_models.forests:ForestModel",
    "fusion.KernelMachine": "fuselearn.fusion.base_models.kernel_machines:KernelMachine",
    "fusion.ListedSuspects": "fuselearn.fusion.listed_suspects:ListedSuspects",
    "fusion.OutOfFoldLogits": "fuselearn.fusion.arm_weights:OutOfFoldLogits",
    "fusion.OutOfFoldValues": "fuselearn.fusion.arm_weights:OutOfFoldValues",
    "fusion.LoggedFit": "fuselearn.fusion.fusion_log:LoggedFit",
    "fusion.LinearMachine": "fuselearn.fusion.base_models.kernel_machines:LinearMachine",
    "fusion.NearestCalibration": "fuselearn.fusion.pattern_fits:NearestCalibration",
    "fusion.PredictionIntervals": "fuselearn.fusion.prediction_intervals:PredictionIntervals",
    "fusion.RadialMachine": "fuselearn.fusion.base_models.kernel_machines:RadialMachine",
    "fusion.ResidualQuantiles": "fuselearn.fusion.prediction_intervals:ResidualQuantiles",
    "fusion.RidgeFeatures": "fuselearn.fusion.base_models.ridge_features:RidgeFeatures",
    "fusion.RidgeModel": "fuselearn.fusion.base_models.ridge_features:RidgeModel",
    "fusion.RowSpread": "fuselearn.fusion.prediction_intervals:RowSpread",
    "fusion.Scale": "fuselearn.fusion.base_models.kernel_machines:Scale",
    "fusion.SupportVectorMachine": "fuselearn.fusion.base_models.support_vector_machines:SupportVectorMachine",
    "fusion.ViewImputer": "fuselearn.fusion.base_models.absent_views:ViewImputer",
    "fusion.SupportVectorMachines": "fuselearn.fusion.base_models.support_vector_machines:SupportVectorMachines",
    "kernels.GramLookup": "fuselearn.kernels.view_kernels:GramLookup",
    "kernels.ViewKernel": "fuselearn.kernels.view_kernels:ViewKernel",
    "multilabel.RbfSVC": "fuselearn.multilabel.rbf_svc:RbfSVC",
    "numeric.Forest": "fuselearn.numeric.forest:Forest",
    "tables.DateEncoding": "fuselearn.tables.fitted_steps:DateEncoding",
    "tables.GapFilling": "fuselearn.tables.fitted_steps:GapFilling",
    "tables.OneHotEncoding": "fuselearn.tables.fitted_steps:OneHotEncoding",
    "tables.Projection": "fuselearn.tables.fitted_steps:Projection",
    "tables.Scaling": "fuselearn.tables.fitted_steps:Scaling",
    "tables.TargetMeanEncoding": "fuselearn.tables.fitted_steps:TargetMeanEncoding",
    "tables.ViewColumns": "fuselearn.tables.view_columns:ViewColumns",
    "tables.ViewPreparation": "fuselearn.tables.view_preparation:ViewPreparation",
}
"""Public id to "module:class"."""
_IDS = {place: public_id for public_id, place in DEFINED_IN.items()}

LARGE_ARRAY = 4096
"""Bytes from which on arrays that are equal are written once, and are one array of the loaded model."""
MAX_EMPTY_ITEMS = 10_000_000
"""Items of an array whose items take no bytes."""
DTYPE = re.compile(
    r"\|b1|[<|][iu][1248]|<f[248]|<c(?:8|16)|<U\d{1,9}|\|S\d{1,9}|<[mM]8(?:\[(?:\d{1,9})?[a-zA-Z]{1,2}\])?"
)
"""Types of the values of an array, all of them plain."""
LAST_CHARACTER = 0x10FFFF
SPARSE = ("csr_matrix", "csr_array", "csc_matrix", "csc_array")
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
POSITIONS = {"pos": 624, "buffer_pos": 4}
"""Names of positions in a state, and the largest of each."""
TREE = "sklearn.tree._tree.Tree"
PARTS = {
    TREE,
    "sklearn._loss._loss",
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.linear_model._base.LinearModel",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._sgd_fast",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._label.LabelBinarizer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.LinearSVC",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.tree._classes.ExtraTreeRegressor",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
}
"""Types, or modules of types, that hold data only, and that estimators of scikit-learn make when they are fitted."""


def id_of(kind: type) -> str | None:
    """Return the public id of a type; None where it has none."""
    return _IDS.get(f"{kind.__module__}:{kind.__qualname__}")


def own_class(public_id: str) -> type[Any]:
    """Return our class of a public id."""
    module, _, name = DEFINED_IN[public_id].partition(":")
    kind: type[Any] = getattr(import_module(module), name)
    return kind


def check_compressed(data: Any, indices: Any, indptr: Any, n_lines: int, n_in_line: int) -> None:
    """Refuse a compressed sparse matrix whose numbers lead outside of it."""
    arrays = (data, indices, indptr)
    if any(type(array) is not np.ndarray or array.ndim != 1 for array in arrays):
        raise ValueError("it has a sparse matrix that is not made of arrays")
    if data.dtype.kind not in "biuf" or indices.dtype.kind != "i" or indptr.dtype != indices.dtype:
        raise ValueError("it has a sparse matrix of other numbers than every fit makes")
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("it has a sparse matrix whose rows do not follow each other")
    if len(data) != len(indices) or indptr[-1] != len(data):
        raise ValueError("it has a sparse matrix of another size than its values")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_in_line):
        raise ValueError("it has a sparse matrix with values outside of it")


def checked_list(written: Any, length: int | None = None) -> list[Any]:
    """Return a list of JSON, of a length where one is given; refuse anything else."""
    if type(written) is not list or len(written) != (len(written) if length is None else length):
        raise ValueError("its tree has a node that is not made as fuselearn.save makes it")
    return written


def dtype_named(name: Any) -> np.dtype[Any]:
    """Return a type of plain values by its name."""
    if type(name) is str and DTYPE.fullmatch(name):
        with suppress(TypeError):  # of an unknown unit of time, or of very long texts
            dtype = np.dtype(name)
            if dtype.itemsize >= 0:  # which overflows in NumPy 2.0
                return dtype
    raise ValueError(f"its tree has an array of {name!r:.40}, which is not one of plain numbers or text")


def size_of(shape: Any) -> int:
    """Return the number of items of an array of a shape."""
    if any(type(length) is not int or not 0 <= length < 2**62 for length in checked_list(shape)) or len(shape) > 8:
        raise ValueError("its tree has an array of a shape that is none")
    return math.prod(shape)


def identity_of(value: Any) -> int | bytes:
    """Return what tells a value from all others: of a large array its content, so that equal ones are written once."""
    if type(value) is not np.ndarray or value.nbytes < LARGE_ARRAY or value.dtype.kind in "OV":
        return id(value)
    order: Literal["C", "F"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    kind = f"{value.dtype.str} {value.shape} {order} ".encode()
    return hashlib.sha256(kind + value.tobytes(order)).digest()


def native(array: AnyArray) -> AnyArray:
    """Return a copy in the byte order of this machine, of values that their type can have."""
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ValueError("its tree has truth values that are neither true nor false")
    if array.dtype.kind == "U" and np.any(array.view("<u4") > LAST_CHARACTER):
        raise ValueError("its tree has text of unknown characters")
    return array.astype(array.dtype.newbyteorder("="))


def is_selector_setting(setting: Any) -> bool:
    """Return whether a setting of a column selector is None, text or a list of text."""
    if type(setting) is list:
        return all(type(item) is str for item in setting)
    return setting is None or type(setting) is str


def generator_state(value: Any) -> dict[str, Any] | None:
    """Return the state of a `RandomState` or `Generator` as plain values; None for anything else."""
    if type(value) is np.random.RandomState:
        return dict(value.get_state(legacy=False))
    if type(value) is np.random.Generator and type(value.bit_generator).__name__ in BIT_GENERATORS:
        return dict(value.bit_generator.state)
    return None


def generator_from(kind: Any, state: Any) -> np.random.RandomState | np.random.Generator:
    """Return a generator in a state that was read from a file."""
    if kind not in ("RandomState", "Generator") or type(state) is not dict:
        raise ValueError("its tree has a random generator of an unknown kind")
    name = state.get("bit_generator")
    if name not in BIT_GENERATORS or (kind == "RandomState" and name != "MT19937"):
        raise ValueError("its tree has a random generator of an unknown kind")
    _check_state(state, depth=0)
    try:
        if kind == "RandomState":
            legacy = np.random.RandomState(0)
            legacy.set_state(state)
            return legacy
        bits = getattr(np.random, name)(0)
        bits.state = state
        return np.random.Generator(bits)
    except (TypeError, LookupError, OverflowError) as error:
        raise ValueError(f"its tree has a random generator without a state ({error})") from None


def _check_state(state: dict[str, Any], depth: int) -> None:
    """Refuse a state whose numbers, arrays or positions are not those of a generator."""
    for name, value in state.items():
        if type(value) is dict and depth == 0:
            _check_state(value, depth + 1)
        elif name in POSITIONS and not (type(value) is int and 0 <= value <= POSITIONS[name]):
            raise ValueError("its tree has a random generator at a position outside of its state")
        elif type(value) is np.ndarray and not (value.ndim == 1 and value.dtype.kind == "u" and len(value) <= 624):
            raise ValueError("its tree has a random generator whose state is not whole")
        elif type(value) not in (int, float, str, np.ndarray, bool):
            raise ValueError("its tree has a random generator whose state is not made of numbers")


class Trust:
    """The types that a caller trusts.

    Parameters
    ----------
    trusted : list of type or of str, or bool
        Types or their full names, ``"sklearn.svm.SVC"`` as well as ``"sklearn.svm._classes.SVC"``; True for all.
    """

    def __init__(self, trusted: Any) -> None:
        self.everything = trusted is True
        if trusted is True or trusted is False:
            trusted = ()
        if isinstance(trusted, str | type) or callable(trusted):
            trusted = [trusted]
        try:
            self.names = {
                item if isinstance(item, str) else f"{item.__module__}.{item.__qualname__}" for item in list(trusted)
            }
        except (TypeError, AttributeError):
            raise TypeError(
                "trusted must be True, or a list of types or of their full names, like ['sklearn.svm.SVC']; got "
                f"{trusted!r:.200}."
            ) from None
        self._parts = any(name.startswith("sklearn.") for name in self.names)

    def accepts(self, name: str) -> bool:
        """Return whether a type may be built."""
        if self.everything or name in self.names or public_name(name) in self.names:
            return True
        return self._parts and (name in PARTS or name.rpartition(".")[0] in PARTS)


def public_name(name: str) -> str:
    """Return the name under which scikit-learn exports a type; other names as they are."""
    module, _, kind = name.rpartition(".")
    if module.partition(".")[0] != "sklearn" or "._" not in module:
        return name
    package = module.partition("._")[0]
    # The name may be from a file that nobody trusts: of all modules, only these are imported for it.
    if package.removeprefix("sklearn.") not in sklearn.__all__:
        return name
    exported = vars(import_module(package)).get(kind)
    return f"{package}.{kind}" if getattr(exported, "__module__", None) == module else name


def names_to_trust(names: Iterable[str]) -> list[str]:
    """Return the names that a caller has to give, so that all of these types may be built.

    Private types come along with the public ones of scikit-learn, and are left out.
    """
    wanted = {public_name(name) for name in names}
    if any(name.startswith("sklearn.") and "._" not in name for name in wanted):
        wanted -= {name for name in wanted if "._" in name and (name in PARTS or name.rpartition(".")[0] in PARTS)}
    return sorted(wanted)
