"""Ranks prompts against documents with a BM25 library, as `run.py` asks: LIBRARY DOCUMENTS PROMPTS LIMIT.

Input and output are those of the tantivy program beside this file.
"""

import json
import sys


def bm25s_lines(texts, prompts, limit):
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(bm25s.tokenize(texts, token_pattern=r"\S+", stopwords=None, show_progress=False),
                show_progress=False)
    queries = bm25s.tokenize(prompts, token_pattern=r"\S+", stopwords=None, show_progress=False)
    found, scores = index.retrieve(queries, k=limit, show_progress=False)
    return [[n for n, score in zip(row, line) if score > 0] for row, line in zip(found, scores)]


def rank_bm25_lines(texts, prompts, limit):
    from rank_bm25 import BM25Okapi
    import numpy

    index = BM25Okapi([text.split() for text in texts], k1=1.2, b=0.75)
    lines = []
    for prompt in prompts:
        scores = index.get_scores(list(dict.fromkeys(prompt.split())))
        best = numpy.argsort(-scores, kind="stable")[:limit]
        lines.append([n for n in best if scores[n] > 0])
    return lines


def main():
    library, documents, prompts, limit = sys.argv[1:]
    with open(documents) as file:
        documents = [json.loads(line) for line in file]
    with open(prompts) as file:
        prompts = file.read().splitlines()
    rank = {"bm25s": bm25s_lines, "rank-bm25": rank_bm25_lines}[library]
    for line in rank([document["text"] for document in documents], prompts, int(limit)):
        print(" ".join(documents[n]["id"] for n in line))


main()
