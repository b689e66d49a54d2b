"""LibAUC: partial-AUC losses on a linear model, with LibAUC's samplers and optimizers.

As its tutorials prescribe: balanced batches from `DualSampler`, sigmoid outputs, sample indices for the
moving averages, each loss with its own optimizer in Adam mode. Two things are done in its favour:

- batches are taken straight from tensors, as a `DataLoader` that collates small rows one by one is slower
  than the training itself;
- its losses check for positives with Python's `sum` over the batch, which takes more time than the rest
  of the step; here that is a tensor sum, with the same result.
"""

import numpy as np
import torch
from libauc import losses, optimizers
from libauc.sampler import DualSampler

from method import BATCH, EVERY, STEPS

torch.set_num_threads(1)
losses.auc.sum = lambda mask: mask.sum()


def prescribe(method, config, labels, parameters):
    """The loss, and the optimizer that LibAUC made for it."""
    config = dict(config)
    common = {"lr": config.pop("lr"), "mode": "adam", "weight_decay": 0.0, "verbose": False}
    rows = len(labels)
    if method == "libauc-sopa":
        loss = losses.pAUC_CVaR_Loss(data_len=rows, pos_len=int(labels.sum()), **config)
        return loss, optimizers.SOPA(parameters, **common)
    if method == "libauc-sopa-s":
        return losses.pAUC_DRO_Loss(data_len=rows, **config), optimizers.SOPAs(parameters, **common)
    if config.pop("loss") == "kl":
        return losses.tpAUC_KL_Loss(data_len=rows, **config), optimizers.SOTAs(parameters, **common)
    return losses.auc.tpAUC_CVaR_loss(data_length=rows, **config), optimizers.STACO(parameters, **common)


def batches(labels, seed):
    """Row indices of one batch after the other, without end."""
    sampler = DualSampler(None, BATCH, labels=labels.astype(np.int64), sampling_rate=0.5, random_seed=seed)
    while True:
        yield from torch.from_numpy(np.fromiter(sampler, np.int64)).split(BATCH)


def fit(method, config, data, seed, track):
    torch.manual_seed(seed)
    x, labels = data["train"]
    features, targets = torch.from_numpy(x), torch.from_numpy(labels)
    model = torch.nn.Linear(x.shape[1], 1)
    loss_of, optimizer = prescribe(method, config, labels, model.parameters())
    rows = batches(labels, seed)

    def step():
        index = next(rows)
        loss = loss_of(torch.sigmoid(model(features[index])), targets[index], index)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    track.train(step, lambda: model.weight.detach().numpy()[0], STEPS["libauc"], EVERY["libauc"])
