"""Training steps of networks: rows per second of Setpoint beside PyTorch, and memory.

The paper's network on 32 x 32 x 3 images (batch 512 and 128) and an MLP 57-256-128-1 (batch 512); a
step is forward, cross-entropy, backward and Adam. PyTorch runs with its default layout and with
channels last, and with an allocator that keeps freed memory (glibc's thresholds raised), without which
it maps and unmaps its activations at every step; one more run shows PyTorch as installed. All take
turns; the table shows medians. On one thread rows per second of processor time, which another
program's work disturbs least; on two, of wall-clock time.

    cargo bench -p setpoint --bench network --no-run
    python3 -m venv .venv-peers && .venv-peers/bin/pip install numpy torch
    .venv-peers/bin/python bench/peers/network.py [ROUNDS] > docs/results/network.md

PyPI's Linux wheel of torch is the CUDA build (about 5 GB installed); it runs on the CPU here.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

ROUNDS = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1] != "serve" else 5
# Case, steps of a turn.
CASES = {"cnn-512": 1, "cnn-128": 3, "mlp-512": 100}
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(8 << 30), "MALLOC_TOP_PAD_": str(256 << 20)}
PEERS = {
    "PyTorch": ("default", KEEP),
    "PyTorch, channels last": ("last", KEEP),
    "PyTorch, as installed": ("default", {}),
}


def torch_step(case, layout, threads):
    """A training step in PyTorch, and its rows."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    name, rows = case.split("-")
    rows = int(rows)
    if name == "mlp":
        network = nn.Sequential(nn.Linear(57, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1))
        x = torch.randn(rows, 57)
    else:
        layers, channels = [], 3
        for outputs, kernel, stride in [(128, 3, 1), (128, 3, 2), (256, 3, 2), (256, 3, 2), (512, 1, 1)]:
            convolution = nn.Conv2d(channels, outputs, kernel, stride, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            channels = outputs
        network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * channels, 1, bias=False))
        x = torch.randn(rows, 3, 32, 32)
        if layout == "last":
            network = network.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
    labels = (torch.arange(rows) % 10 == 0).float()
    optimizer = torch.optim.Adam(network.parameters())

    def step():
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(network(x)[:, 0], labels).backward()
        optimizer.step()

    return step, rows


def serve(case, layout, threads, steps):
    """Child process: one line in, one measurement out."""
    step, rows = torch_step(case, layout, threads)
    for _ in range(3):
        step()
    for _ in sys.stdin:
        before, used, start = resource.getrusage(resource.RUSAGE_SELF), time.process_time(), time.perf_counter()
        for _ in range(steps):
            step()
        seconds, used = time.perf_counter() - start, time.process_time() - used
        after = resource.getrusage(resource.RUSAGE_SELF)
        faults = (after.ru_minflt - before.ru_minflt) / steps
        result = {"wall": rows * steps / seconds, "cpu": rows * steps / used, "faults": faults, "peak": after.ru_maxrss // 1000}
        print(json.dumps(result), flush=True)


def start(command, environment):
    pipe = subprocess.PIPE
    environment = {**os.environ, **environment}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment)


def measure(case, threads):
    """Each runner's measurements, by turns."""
    steps = str(CASES[case])
    bench = ["cargo", "bench", "-q", "-p", "setpoint", "--bench", "network", "--", "serve", case, str(threads), steps]
    runners = {"Setpoint": start(bench, {})}
    for name, (layout, environment) in PEERS.items():
        if layout == "default" or case.startswith("cnn"):
            command = [sys.executable, __file__, "serve", case, layout, str(threads), steps]
            runners[name] = start(command, environment)
    found = {name: [] for name in runners}
    for turn in range(ROUNDS + 1):
        for name, child in runners.items():
            child.stdin.write("go\n")
            child.stdin.flush()
            result = json.loads(child.stdout.readline())
            if turn:  # the first warms up
                found[name].append(result)
    for child in runners.values():
        child.stdin.close()
        child.wait()
    return found


def main():
    print("# Training steps of networks, beside PyTorch\n")
    print(f"{datetime.date.today()}, PyTorch {importlib.metadata.version('torch')}, Python {platform.python_version()};")
    print("`python bench/peers/network.py > docs/results/network.md`, which says what is compared.")
    print(f"Median of {ROUNDS} turns; load of the machine at the start {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    for threads, clock in [(1, "cpu"), (2, "wall")]:
        print(f"## {threads} thread{'s' if threads > 1 else ''}, by {'processor' if clock == 'cpu' else 'wall-clock'} time\n")
        print("| step | | rows per second | Setpoint against it | peak memory, MB | page faults per step |\n|---|---|---|---|---|---|")
        for case in CASES:
            found = measure(case, threads)
            median = {name: statistics.median(result[clock] for result in results) for name, results in found.items()}
            for name, results in found.items():
                ratio = "" if name == "Setpoint" else f"{median['Setpoint'] / median[name]:.2f}"
                faults = statistics.median(result["faults"] for result in results)
                print(f"| {case} | {name} | {median[name]:,.0f} | {ratio} | {results[-1]['peak']:,} | {faults:,.0f} |", flush=True)
        print()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
