"""Two training steps of small networks in PyTorch (float64), as a case for the tests.

    python3 -m venv .venv-peers && .venv-peers/bin/pip install numpy torch
    .venv-peers/bin/python bench/peers/net_case.py > crates/setpoint/src/model/net/tests/torch.json

For each network: parameters, examples, a score gradient for each of two steps of plain gradient
descent, and what PyTorch made of them: scores, gradients, and scores in evaluation mode after both
steps. Seeds are tried until no value that enters a ReLU is close to its kink.
"""

import json

import numpy as np
import torch
import torch.nn.functional as F

RATE, ROWS, MARGIN = 0.05, 12, 3e-5


def conv(outputs, kernel, stride, padding, bias=False):
    return {"kind": "conv2d", "outputs": outputs, "kernel": kernel, "stride": stride, "padding": padding, "bias": bias}


def dense(outputs, bias=True):
    return {"kind": "dense", "outputs": outputs, "bias": bias}


NORM, RELU, FLATTEN = ({"kind": kind} for kind in ("batch-norm", "relu", "flatten"))
NETWORKS = {
    "cnn": {
        "input": {"image": {"height": 9, "width": 8, "channels": 3}},
        "layers": [conv(6, 3, 1, "valid"), NORM, RELU, conv(8, 3, 2, "same"), NORM, RELU]
        + [conv(5, 2, 2, "valid", True), RELU, conv(9, 1, 1, "valid"), NORM, RELU, FLATTEN, dense(1, False)],
    },
    "mlp": {"input": {"columns": 7}, "layers": [dense(20), RELU, dense(12), RELU, dense(1)]},
}


class Network(torch.nn.Module):
    """The layers of an architecture, channels last at both ends."""

    def __init__(self, architecture):
        super().__init__()
        shape = architecture["input"]
        self.image = "image" in shape
        channels = shape["image"]["channels"] if self.image else shape["columns"]
        size = (shape["image"]["height"], shape["image"]["width"]) if self.image else None
        self.layers, self.made = architecture["layers"], torch.nn.ModuleList()
        for layer in self.layers:
            module = torch.nn.Identity()
            if layer["kind"] == "conv2d":
                kernel, stride = layer["kernel"], layer["stride"]
                module = torch.nn.Conv2d(channels, layer["outputs"], kernel, stride, bias=layer["bias"])
                same = layer["padding"] == "same"
                size = tuple(-(-n // stride) if same else (n - kernel) // stride + 1 for n in size)
                channels = layer["outputs"]
            elif layer["kind"] == "dense":
                module = torch.nn.Linear(channels, layer["outputs"], bias=layer["bias"])
                channels = layer["outputs"]
            elif layer["kind"] == "batch-norm":
                module = (torch.nn.BatchNorm2d if size else torch.nn.BatchNorm1d)(channels)
            elif layer["kind"] == "flatten":
                channels, size = channels * size[0] * size[1], None
            self.made.append(module)

    def forward(self, x):
        self.closest = float("inf")
        x = x.permute(0, 3, 1, 2) if self.image else x
        for layer, module in zip(self.layers, self.made):
            if layer["kind"] == "relu":
                self.closest = min(self.closest, x.abs().min().item())
                x = F.relu(x)
            elif layer["kind"] == "flatten":
                x = x.permute(0, 2, 3, 1).flatten(1)
            else:
                if layer.get("padding") == "same":
                    kernel, stride = layer["kernel"], layer["stride"]
                    pads = []
                    for n in (x.shape[3], x.shape[2]):
                        total = max((-(-n // stride) - 1) * stride + kernel - n, 0)
                        pads += [total // 2, total - total // 2]
                    x = F.pad(x, pads)
                x = module(x)
        return x[:, 0]

    def tensors(self):
        """Parameters and running statistics in the order of the flat slice."""
        for module in self.made:
            names = ["weight", "bias"] + ["running_mean", "running_var"] * isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
            yield from (t for t in (getattr(module, name, None) for name in names) if t is not None)


def flat(tensors):
    parts = [(t.permute(0, 2, 3, 1) if t.dim() == 4 else t).reshape(-1) for t in tensors]
    return torch.cat(parts).detach()


def numbers(values):
    return [float(f"{value:.12g}") for value in values]


def case(architecture, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = Network(architecture).double()
    with torch.no_grad():
        for tensor in network.tensors():
            tensor.add_(0.1 * torch.randn_like(tensor)).abs_() if tensor.dim() == 1 else None
            tensor.copy_(tensor.float())  # exact in 32 bits
    start = numbers(flat(network.tensors()))
    if network.image:
        shape = architecture["input"]["image"]
        pixels = rng.integers(0, 256, (ROWS, shape["height"], shape["width"], shape["channels"]))
        examples, x = pixels.ravel().tolist(), torch.from_numpy((pixels - 128) / 64)
    else:
        x = rng.uniform(-2, 2, (ROWS, architecture["input"]["columns"])).astype(np.float32)
        examples, x = x.ravel().tolist(), torch.from_numpy(x).double()
    steps, closest = [], float("inf")
    for _ in range(2):
        v = rng.uniform(-1, 1, ROWS).astype(np.float32)
        scores = network(x)
        closest = min(closest, network.closest)
        network.zero_grad()
        (scores * torch.from_numpy(v)).sum().backward()
        gradient = flat(t.grad if t.requires_grad else torch.zeros_like(t) for t in network.tensors())
        with torch.no_grad():
            for tensor in network.parameters():
                tensor.sub_(RATE * tensor.grad)
        steps.append({"v": v.tolist(), "scores": numbers(scores), "gradient": numbers(gradient)})
    end = numbers(flat(network.tensors()))
    network.eval()
    used = numbers(network(x))
    closest = min(closest, network.closest)
    made = {"architecture": architecture, "rate": RATE, "rows": ROWS, "examples": examples, "start": start}
    return closest, made | {"steps": steps, "end": end, "scores": used}


def main():
    cases = {"torch": torch.__version__}
    for name, architecture in NETWORKS.items():
        closest, made = next(found for seed in range(10_000) if (found := case(architecture, seed))[0] > MARGIN)
        cases[name] = made
    print(json.dumps(cases, separators=(",", ":")))


if __name__ == "__main__":
    main()
