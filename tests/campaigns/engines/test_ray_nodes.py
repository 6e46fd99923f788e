"""Ray: machines that leave and join in the middle of a run, and a cluster that asks for a token."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("ray", reason="needs the extra ray")

SCRIPT = """
    import itertools, os, subprocess, sys, time
    import ray
    import torch
    from ray.cluster_utils import Cluster
    from mutiny.campaigns.engines.ray import Ray
    from mutiny.campaigns.jobs import Job

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": {"worker_niceness": 0}})
    second = cluster.add_node(num_cpus=1)
    data = torch.arange(1_000_000.0)
    number, nodes, order, left = 0, {}, [], None

    def work(job):
        time.sleep(0.05)
        return float(data[job.arguments[0]]), ray.get_runtime_context().get_node_id()

    def jobs():  # until a machine that joined after the other left has done something
        global number
        while len(set(order)) < 3 and number < 4000:
            yield Job("a", (number,))
            number += 1

    for result in Ray(cluster.address).run(work, jobs()):
        assert result.failure is None, result.failure
        value, where = result.value
        assert value == result.job.arguments[0] and value not in nodes
        nodes[value] = where
        order.append(where)
        if left is None and len(set(order)) == 2 and len(order) > 10:
            left = len(order)
            cluster.remove_node(second)  # with what it was doing
            cluster.add_node(num_cpus=1)
    assert len(nodes) == number, (len(nodes), number)
    print("every job once,", len(set(order)), "machines", flush=True)

    joining = "from mutiny.campaigns.engines.ray import Ray; from mutiny.campaigns.jobs import Job; " \\
        f"print([r.value for r in Ray({cluster.address!r}).run(lambda job: 5, [Job('a')])])"
    wrong = subprocess.run(
        [sys.executable, "-c", joining], env={**os.environ, "RAY_AUTH_TOKEN": "wrong"}, capture_output=True, text=True
    )
    print(wrong.stderr.splitlines()[-1])
    cluster.shutdown()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_machine_leaves_another_joins_and_nobody_enters_without_the_token(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "only-for-tests-" + "0" * 32}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False, env=environment)
    first, second = done.stdout.splitlines() if done.stdout.count("\n") == 2 else (done.stdout, done.stderr)
    assert first == "every job once, 3 machines", done.stderr
    assert "expected a Ray cluster that can be joined" in second
    assert "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token" in second
