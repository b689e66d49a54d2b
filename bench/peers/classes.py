"""Milliseconds per full-batch step of softmax cross-entropy: Setpoint beside PyTorch.

Both do the same step on data of the same shape: scores of a linear model with an output for each class, the
loss, its gradient by weights and biases, and a step of gradient descent. Runs are interleaved; the table shows
medians and ratios.

    /usr/bin/python3 bench/peers/classes.py        # with Debian's python3-torch
"""

import statistics
import subprocess
import sys
import time

ROWS, COLUMNS = 10_000, 16
ROUNDS, STEPS = 15, 60


def worker(classes, threads):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    y = torch.arange(ROWS) * 7919 % (classes * classes) // classes
    x = 2 * torch.rand(ROWS, COLUMNS) - 1 + 0.8 * torch.randn(classes, COLUMNS)[y]
    weights = (3 * torch.randn(COLUMNS, classes)).requires_grad_()
    biases = torch.zeros(classes, requires_grad=True)

    def step():
        loss = torch.nn.functional.cross_entropy(torch.addmm(biases, x, weights), y)
        gradients = torch.autograd.grad(loss, (weights, biases))
        with torch.no_grad():
            for parameter, gradient in zip((weights, biases), gradients):
                parameter.sub_(0.05 * gradient)

    return step


def serve(classes, threads):
    """Child process: one line in, one timing out."""
    step = worker(classes, threads)
    for _ in range(5):
        step()
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        print(1e3 * (time.perf_counter() - start) / STEPS, flush=True)


def main():
    bench = ["cargo", "bench", "-q", "-p", "setpoint", "--bench", "classes", "--", "step"]
    print(f"{ROWS} x {COLUMNS}; milliseconds per step, median of {ROUNDS} interleaved rounds of {STEPS} steps")
    print(f"{'classes':>8} {'threads':>8} {'setpoint':>10} {'torch':>10} {'x':>6} {'range of x':>14}")
    for classes in (10, 26):
        for threads in (1, 2):
            child = subprocess.Popen(
                [sys.executable, __file__, "serve", str(classes), str(threads)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            ours, theirs = [], []
            for _ in range(ROUNDS):
                command = [*bench, str(classes), str(threads), str(STEPS)]
                out = subprocess.run(command, check=True, capture_output=True, text=True)
                ours.append(float(out.stdout.split()[-1]))
                child.stdin.write("go\n")
                child.stdin.flush()
                theirs.append(float(child.stdout.readline()))
            child.stdin.close()
            child.wait()
            a, b = statistics.median(ours), statistics.median(theirs)
            ratios = sorted(their / our for our, their in zip(ours, theirs))
            spread = f"{ratios[0]:.1f} to {ratios[-1]:.1f}"
            print(f"{classes:>8} {threads:>8} {a:>10.3f} {b:>10.3f} {b / a:>6.1f} {spread:>14}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*map(int, sys.argv[2:4]))
    else:
        main()
