#!/usr/bin/env python3
"""Ranks prompts against 1,000 skills with `proctor search`, two Python libraries and tantivy.

    cargo build --release && benches/search/run.py [--rounds 3] [--only proctor]

Whole processes are measured, from start to the last line of the answer: Proctor finds and reads
1,000 folders with a SKILL.md each, the others one file with the same words. The words are such that
no stemmer changes them, and fields are weighted by repeating them, so that all four rank the same
terms. The table has medians; the last columns say how often the first skill is that of Proctor, and
what a prompt more costs. Goal: 1,000 prompts in less than 250 ms. The peers go into `target/peers`;
tantivy takes some minutes to build.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

BM25S, RANK_BM25 = "0.3.16", "0.2.2"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = ROOT / "target/peers"
PYTHON = PEERS / "bm25/venv/bin/python"
TANTIVY = PEERS / "tantivy/release/search-peer"
PROCTOR = Path(os.environ.get("PROCTOR", ROOT / "target/release/proctor"))
SKILLS, SIZES, LIMIT = 1_000, (1_000, 10_000), 10


def install(names):
    if {"bm25s", "rank-bm25"} & names and not PYTHON.exists():
        venv.create(PEERS / "bm25/venv", with_pip=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", f"bm25s=={BM25S}",
                        f"rank-bm25=={RANK_BM25}"], check=True)
    if "tantivy" in names:
        subprocess.run(["nice", "cargo", "build", "--quiet", "--release", "--locked", "--target-dir",
                        PEERS / "tantivy"], cwd=HERE / "tantivy", check=True)


def vocabulary(chance, count):
    """Words that end so that they are their own stems; a few of them are used very often."""
    words = set()
    while len(words) < count:
        syllables = chance.choices([c + v for c in "bdfgklmnprtvz" for v in "aiou"], k=3)
        words.add("".join(syllables) + chance.choice("klmnrt"))
    words = sorted(words)
    chance.shuffle(words)
    return words, [1 / (rank + 10) for rank in range(count)]


def lay_out(root):
    chance = random.Random(20261130)
    words, weights = vocabulary(chance, 5_000)
    pick = lambda count: chance.choices(words, weights, k=count)
    documents, described = [], []
    for number in range(SKILLS):
        name, keywords = chance.sample(words, 2), pick(5)
        description = pick(chance.randint(40, 120))
        described.append(description)
        identity = f"{'-'.join(name)}-{number:04}"
        folder = root / "skills" / identity
        folder.mkdir(parents=True)
        folder.joinpath("SKILL.md").write_text(
            f"---\nname: {identity}\ndescription: {' '.join(description)}\n"
            f"keywords: [{', '.join(keywords)}]\n---\n\n# {identity}\n\n" + "Do it well.\n" * 60)
        text = (name + [f"{number:04}"]) * 3 + keywords * 2 + description
        documents.append(json.dumps({"id": identity, "text": " ".join(text)}))
    # The order in which equal scores stand.
    documents.sort(key=lambda line: json.loads(line)["id"])
    root.joinpath("documents.jsonl").write_text("\n".join(documents) + "\n")
    for size in SIZES:
        prompts = (chance.sample(chance.choice(described), 5) + pick(6) for _ in range(size))
        # Not all of the others count a word once.
        text = "\n".join(" ".join(dict.fromkeys(prompt)) for prompt in prompts)
        root.joinpath(f"prompts-{size}.txt").write_text(text + "\n")


def command(name, size):
    prompts = f"prompts-{size}.txt"
    if name == "proctor":
        return [PROCTOR, "search", "-", "--format", "json", "--limit", str(LIMIT)], prompts
    if name == "tantivy":
        return [TANTIVY, "documents.jsonl", prompts, str(LIMIT)], os.devnull
    return [PYTHON, HERE / "bm25.py", name, "documents.jsonl", prompts, str(LIMIT)], os.devnull


def measure(root, name, size):
    arguments, stdin = command(name, size)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(root / stdin) as given, open(root / "out", "w") as out:
        subprocess.run(arguments, cwd=root, stdin=given, stdout=out, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = (root / "out").read_text().splitlines()
    if name == "proctor":
        best = [json.loads(line)["hits"][0]["id"] for line in lines]
    else:
        best = [line.split()[0] for line in lines]
    if len(best) != size:
        sys.exit(f"{name}: {len(best)} answers to {size} prompts")
    return wall, cpu, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="proctor,tantivy,bm25s,rank-bm25")
    options = parser.parse_args()
    names = options.only.split(",")
    install(set(names))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(root)
        found = {}
        for size in SIZES:
            # The contestants take turns.
            for number in range(options.rounds):
                for name in names:
                    if name == "rank-bm25" and size == SIZES[-1] and number > 0:
                        continue
                    found.setdefault((name, size), []).append(measure(root, name, size))
    print("| tool | 1,000 prompts: wall s | CPU s | 10,000 prompts: wall s | CPU s "
          "| a prompt more: CPU ms | same first skill |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in names:
        figures = {size: [statistics.median(column) for column in list(zip(*found[name, size]))[:2]]
                   for size in SIZES}
        (small, small_cpu), (large, large_cpu) = (figures[size] for size in SIZES)
        more = (large_cpu - small_cpu) / (SIZES[1] - SIZES[0]) * 1000
        same = [a == b for a, b in zip(found[name, SIZES[1]][0][2], found[names[0], SIZES[1]][0][2])]
        print(f"| {name} | {small:.3f} | {small_cpu:.3f} | {large:.3f} | {large_cpu:.3f} "
              f"| {more:.3f} | {sum(same) / len(same):.1%} |")


if __name__ == "__main__":
    main()
