"""A Ray cluster of two simulated machines: ``python -m torture.cluster``.

It prints its address, removes a machine when it reads a line from its standard input, and ends with its input.
"""

from __future__ import annotations

import sys

from torture.watching import note


def main() -> None:
    """Runs the cluster until the input ends."""
    from ray.cluster_utils import Cluster

    quick = {"num_cpus": 1, "_system_config": {"worker_niceness": 0}}
    cluster = Cluster(initialize_head=True, head_node_args=quick)
    second = cluster.add_node(num_cpus=1)
    note(f"address {cluster.address}")
    if sys.stdin.readline():
        cluster.remove_node(second)
        note("removed")
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
