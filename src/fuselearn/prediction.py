"""Classes and probabilities from decision values, for every classifier that has these."""

from fuselearn.numeric.decisions import codes_of, probabilities


class PredictsByDecision:
    """Mixin that predicts from `decision_function` and `classes_`."""

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X):
        """Class probabilities by a logistic link, softmax(2·decision), which is not calibrated.

        Wrap the classifier in :class:`sklearn.calibration.CalibratedClassifierCV` where probabilities matter.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return probabilities(self.decision_function(X))
