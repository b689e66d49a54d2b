"""scikit-learn's LogisticRegression: C chosen on validation; weighted: the positives' weight as well."""

from sklearn.linear_model import LogisticRegression


def fit(method, config, data, seed, track):
    model = LogisticRegression(C=config["C"], class_weight={0: 1, 1: config.get("weight", 1)}, max_iter=2000)
    with track.training():
        model.fit(*data["train"])
    track.steps = int(model.n_iter_[0])
    track.see(model.coef_[0])
