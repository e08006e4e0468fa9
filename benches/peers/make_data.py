"""Writes N recorded outputs of about 1 KB, in the form that each contestant reads.

Three checks each: the answer contains the current city and the word for what was asked, and it does
not contain the old city. Every tenth answer is stale. The same N gives the same files.
"""

import json
import random
import sys
from pathlib import Path

NOW = ["Lisbon", "Oslo", "Quito", "Kyoto", "Nairobi"]
BEFORE = ["Rome", "Delhi", "Lima", "Perth"]
FILLER = (
    "That is what the notes of the last conversations say, and nothing later speaks against it. "
    "The street was mentioned once, the number never, so I would ask before sending anything there. "
)


def records(count):
    dice = random.Random(11)
    for number in range(count):
        now, before = dice.choice(NOW), dice.choice(BEFORE)
        shown = before if number % 10 == 0 else now
        answer = f"Record {number}: the user lives in {shown} at present. {FILLER * 5}"
        yield {"number": number, "now": now, "before": before, "answer": answer}


def write_lines(path, values):
    with path.open("w", encoding="utf-8") as out:
        for value in values:
            out.write(json.dumps(value, ensure_ascii=False) + "\n")


def main():
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    all_records = list(records(count))
    question = "Where does the user live now?"
    write_lines(
        folder / "proctor.jsonl",
        (
            {
                "contractVersion": "1",
                "fixture": {
                    "id": f"city-{r['number']}",
                    "category": "forgetting",
                    "kind": "positive",
                    "query": question,
                    "expected": {"mustContain": [r["now"], "lives in"], "mustNotContain": [r["before"]]},
                },
                "actual": {"answer": r["answer"]},
            }
            for r in all_records
        ),
    )
    # YAML reads JSON, and promptfoo reads it faster than block style.
    (folder / "promptfoo.yaml").write_text(
        json.dumps(
            {
                "prompts": ["{{answer}}"],
                "providers": ["echo"],
                "tests": [
                    {
                        "vars": {"answer": r["answer"]},
                        "assert": [
                            {"type": "icontains", "value": r["now"]},
                            {"type": "icontains", "value": "lives in"},
                            {"type": "not-icontains", "value": r["before"]},
                        ],
                    }
                    for r in all_records
                ],
            }
        ),
        encoding="utf-8",
    )
    (folder / "inspect.json").write_text(
        json.dumps(
            [
                {
                    "id": r["number"],
                    "input": question,
                    "target": r["now"],
                    "metadata": {"answer": r["answer"], "before": r["before"]},
                }
                for r in all_records
            ]
        ),
        encoding="utf-8",
    )
    write_lines(folder / "deepeval.jsonl", all_records)


if __name__ == "__main__":
    main()
