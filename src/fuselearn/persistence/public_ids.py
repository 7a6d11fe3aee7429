"""Names of fuselearn's own types in saved models.

A file names a type of ours by its public id, never by the module that defines it, so that the module can move without
orphaning files. This table says where the class of an id is defined now, as text: nothing is imported to read it. What
has no id cannot be part of a saved model.

An id never changes once it was released. When a class is moved or renamed, only the right-hand side changes.
"""

from importlib import import_module
from typing import Any

DEFINED_IN: dict[str, str] = {
    # Estimators
    "AugmentedKernelClassifier": "fuselearn.kernels.augmented:AugmentedKernelClassifier",
    "ConcatenatedClassifier": "fuselearn.ensembles.concatenated:ConcatenatedClassifier",
    "FusionClassifier": "fuselearn.fusion.fusion_classifier:FusionClassifier",
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
    "TomographicClassifier": "fuselearn.kernels.tomographic:TomographicClassifier",
    "ViewStackingClassifier": "fuselearn.ensembles.view_stacking:ViewStackingClassifier",
    "ViewVotingClassifier": "fuselearn.ensembles.voting:ViewVotingClassifier",
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
    "fusion.Calibration": "fuselearn.fusion.calibration_and_scores:PatternCalibration",
    "fusion.CrossFittedModel": "fuselearn.fusion.base_models.cross_fitted:CrossFittedModel",
    "fusion.Forest": "fuselearn.fusion.base_models.forests:ForestModel",
    "fusion.KernelMachine": "fuselearn.fusion.base_models.kernel_machines:KernelMachine",
    "fusion.ListedSuspects": "fuselearn.fusion.listed_suspects:ListedSuspects",
    "fusion.LoggedFit": "fuselearn.fusion.fusion_log:LoggedFit",
    "fusion.LinearMachine": "fuselearn.fusion.base_models.kernel_machines:LinearMachine",
    "fusion.RadialMachine": "fuselearn.fusion.base_models.kernel_machines:RadialMachine",
    "fusion.RidgeFeatures": "fuselearn.fusion.base_models.ridge_features:RidgeFeatures",
    "fusion.RidgeModel": "fuselearn.fusion.base_models.ridge_features:RidgeModel",
    "fusion.Scale": "fuselearn.fusion.base_models.kernel_machines:Scale",
    "fusion.SupportVectorMachine": "fuselearn.fusion.base_models.support_vector_machines:SupportVectorMachine",
    "fusion.SupportVectorMachines": "fuselearn.fusion.base_models.support_vector_machines:SupportVectorMachines",
    "kernels.GramLookup": "fuselearn.kernels.view_kernels:GramLookup",
    "kernels.ViewKernel": "fuselearn.kernels.view_kernels:ViewKernel",
    "multilabel.RbfSVC": "fuselearn.multilabel.rbf_svc:RbfSVC",
    "numeric.Forest": "fuselearn.numeric.forest:Forest",
    "tables.GapFilling": "fuselearn.tables.fitted_steps:GapFilling",
    "tables.OneHotEncoding": "fuselearn.tables.fitted_steps:OneHotEncoding",
    "tables.Projection": "fuselearn.tables.fitted_steps:Projection",
    "tables.Scaling": "fuselearn.tables.fitted_steps:Scaling",
    "tables.TargetMeanEncoding": "fuselearn.tables.fitted_steps:TargetMeanEncoding",
    "tables.ViewColumns": "fuselearn.tables.view_columns:ViewColumns",
    "tables.ViewPreparation": "fuselearn.tables.view_preparation:ViewPreparation",
}
"""Public id to "module:class"."""


def id_of(kind: type) -> str | None:
    """Return the public id of a type; None where it has none."""
    return _IDS.get(f"{kind.__module__}:{kind.__qualname__}")


def own_class(public_id: str) -> type[Any]:
    """Return our class of a public id."""
    module, _, name = DEFINED_IN[public_id].partition(":")
    kind: type[Any] = getattr(import_module(module), name)
    return kind


_IDS = {place: public_id for public_id, place in DEFINED_IN.items()}
