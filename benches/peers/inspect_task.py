"""The three checks for inspect-ai; the recorded answer stands in for a model."""

import os

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, includes, scorer
from inspect_ai.solver import solver


@solver
def replay():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
        return state

    return solve


@scorer(metrics=[accuracy()])
def names_the_matter():
    async def score(state, target):
        return Score(value="C" if "lives in" in state.output.completion.lower() else "I")

    return score


@scorer(metrics=[accuracy()])
def not_stale():
    async def score(state, target):
        stale = state.metadata["before"].lower() in state.output.completion.lower()
        return Score(value="I" if stale else "C")

    return score


@task
def recorded():
    return Task(
        dataset=json_dataset(os.environ["RECORDED"]),
        solver=replay(),
        scorer=[includes(), names_the_matter(), not_stale()],
    )
