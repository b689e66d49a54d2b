"""scikit-learn's own checks of an estimator."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from setpoint import SetpointClassifier, SetpointThreshold

SPLITS = (
    "rows are shared out at random between training, validation and calibration, so repeating or "
    "leaving out a row draws another split than weighting it does"
)


THRESHOLD = (
    "the check wants the more probable class; decisions follow the goal's threshold, which at 1% false "
    "alarms asks for more than an even chance"
)
SMALL = "ten rows, two of them positive, cannot fill training, validation and calibration with both classes"


def expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": SPLITS,
        "check_sample_weight_equivalence_on_sparse_data": SPLITS,
    }
    if isinstance(estimator, SetpointClassifier):
        failures["check_fit2d_1feature"] = SMALL
        failures["check_classifiers_train"] = THRESHOLD
    return failures


@parametrize_with_checks(
    [
        SetpointClassifier(),
        SetpointClassifier("accuracy", confidence=None),
        SetpointClassifier("macro-f1", confidence=None),
        SetpointThreshold(LogisticRegression()),
    ],
    expected_failed_checks=expected_failures,
)
def test_check_estimator(estimator, check):
    check(estimator)
