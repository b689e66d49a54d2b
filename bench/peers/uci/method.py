"""What is compared, as plain data: goals, peers, their methods, grids and budgets.

No package is imported here: the parent process reads this without any peer's environment.
"""

import itertools

# Whether higher is better.
GOALS = {
    "pr-auc @ recall in 0.95..1": True,
    "fnr @ fpr<=1%": False,
    "fnr @ fpr<=5%": False,
    "roc-auc @ fpr in 0..5%": True,
}
SETS = {"letter": "Letter", "ijcnn1": "IJCNN1", "adult": "Adult", "spambase": "Spambase", "crime": "Crime"}


def better(goal, value, than):
    """Whether `value` beats `than`; anything beats None."""
    return than is None or (value > than if GOALS[goal] else value < than)


def grid(**choices):
    """Every combination of the choices, as a list of settings."""
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


STRENGTH = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
GRIDS = {
    "sklearn-plain": grid(C=STRENGTH),
    "sklearn-weighted": grid(C=STRENGTH, weight=[1, 3, 10, 30, 100, 300]),
    "libauc-sopa": grid(lr=[0.01, 0.1], beta=[0.01, 0.05, 0.2], eta=[0.1, 1.0]),
    "libauc-sopa-s": grid(lr=[0.01, 0.1], Lambda=[0.1, 0.3, 1.0, 10.0]),
    "libauc-two-way": grid(loss=["kl"], lr=[0.01, 0.1], tau=[0.3, 1.0])
    + grid(loss=["cvar"], lr=[0.01, 0.1], theta_0=[0.1, 0.5]),
    "tfco": grid(surrogate=["hinge", "cross-entropy"], lr=[0.03, 0.1, 1.0], dual_lr=[1.0, 10.0]),
}
TITLES = {
    "sklearn-plain": "LogisticRegression",
    "sklearn-weighted": "LogisticRegression, weighted",
    "libauc-sopa": "LibAUC SOPA",
    "libauc-sopa-s": "LibAUC SOPA-s",
    "libauc-two-way": "LibAUC two-way",
    "tfco": "TFCO",
}
PACKAGES = {
    "sklearn": ["scikit-learn", "numpy"],
    "libauc": ["libauc", "torch", "numpy"],
    "tfco": ["tensorflow_constrained_optimization", "tensorflow-cpu", "numpy"],
}
# Peers whose loss states the goal need a fit per goal; a fit of the others is judged for all goals at once.
GOAL_BY_GOAL = {"sklearn": False, "libauc": False, "tfco": True}
STEPS = {"libauc": 2000, "tfco": 500}
EVERY = {"libauc": 50, "tfco": 10}
BATCH = 512
NOTES = {
    "sklearn": "L-BFGS to convergence (at most 2000 iterations).",
    "libauc": f"{STEPS['libauc']} steps of its own optimizers (Adam mode) on batches of {BATCH} from its `DualSampler`, "
    f"sigmoid outputs, judged on validation after every {EVERY['libauc']}. In its favour, batches are sliced from "
    "tensors, and its losses' check for positives (a Python loop over the batch) is a tensor sum: a step takes about "
    "half the time of the released package's (1.8 ms against 3.8). The two-way grid has both its losses, `tpAUC_KL_Loss` and "
    "`tpAUC_CVaR_loss`.",
    "tfco": f"{STEPS['tfco']} full-batch steps from zeros in graph mode (its fast way), judged on validation after every "
    f"{EVERY['tfco']}; `LagrangianOptimizerV1` with Adam for parameters and multipliers, each with its learning rate "
    "(the paper's dual scale does nothing under Adam); thresholds at the midpoints of 5 (pr-auc) or 10 (roc-auc) bins. "
    "Its default surrogate, the hinge, is in the grid beside the cross-entropy of the paper, and does better.",
}


def peer_of(method):
    return method.split("-")[0]
