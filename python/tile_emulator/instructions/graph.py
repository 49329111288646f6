# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Immediate post-dominators: where the lanes of a divergent branch meet again."""

from __future__ import annotations


def immediate_post_dominators(successors: list[list[int]], exit_node: int) -> list[int]:
    """Return for each node the node that all its paths to `exit_node` pass first.

    The algorithm of Cooper, Harvey and Kennedy on the reversed graph. A node that cannot reach the
    exit (an endless loop) gets `exit_node`.
    """
    count = len(successors)
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for node, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(node)
    order: list[int] = []
    seen = [False] * count
    stack: list[tuple[int, int]] = [(exit_node, 0)]
    seen[exit_node] = True
    while stack:
        node, index = stack.pop()
        if index < len(predecessors[node]):
            stack.append((node, index + 1))
            below = predecessors[node][index]
            if not seen[below]:
                seen[below] = True
                stack.append((below, 0))
        else:
            order.append(node)
    number = {node: i for i, node in enumerate(order)}
    result = [-1] * count
    result[exit_node] = exit_node
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == exit_node:
                continue
            new = -1
            for target in successors[node]:
                if result[target] == -1:
                    continue
                if new == -1:
                    new = target
                    continue
                a, b = target, new
                while a != b:
                    while number[a] < number[b]:
                        a = result[a]
                    while number[b] < number[a]:
                        b = result[b]
                new = a
            if new != -1 and result[node] != new:
                result[node] = new
                changed = True
    return [exit_node if node == -1 else node for node in result]
