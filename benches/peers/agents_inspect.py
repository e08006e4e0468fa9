"""A trivial process for each sample of inspect-ai, and one check."""

import os

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import solver
from inspect_ai.util import subprocess


@solver
def process():
    async def solve(state, generate):
        done = await subprocess(["sh", "-c", f"printf 'ok %s' {state.sample_id}"])
        state.output = ModelOutput.from_content("mock", done.stdout)
        return state

    return solve


@task
def agents():
    samples = [Sample(id=i, input=f"case {i}", target="ok") for i in range(int(os.environ["AGENTS"]))]
    return Task(dataset=samples, solver=process(), scorer=includes())
