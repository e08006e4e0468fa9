"""The three checks for deepeval, as patterns: it has no plain containment.

Its metrics are the same for all cases, so each case carries what it looks for in its answer.
"""

import json
import re
import sys

from deepeval import evaluate
from deepeval.evaluate.configs import CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Contains(BaseMetric):
    """Whether a value of the case is, or is not, in its answer."""

    def __init__(self, name, value, wanted=True):
        self.name, self.value, self.wanted = name, value, wanted
        self.threshold, self.async_mode, self.include_reason = 1.0, True, False
        self.evaluation_model = None

    @property
    def __name__(self):
        return self.name

    def measure(self, test_case, *_, **__):
        value = self.value or test_case.additional_metadata[self.name]
        found = re.search(re.escape(value), test_case.actual_output, re.IGNORECASE) is not None
        self.score = 1.0 if found == self.wanted else 0.0
        self.success = self.score == 1.0
        self.reason = None
        return self.score

    async def a_measure(self, test_case, *_, **__):
        return self.measure(test_case)

    def is_successful(self):
        return self.success


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    cases = [
        LLMTestCase(
            input="Where does the user live now?",
            actual_output=r["answer"],
            additional_metadata={"now": r["now"], "before": r["before"]},
        )
        for r in records
    ]
    metrics = [Contains("now", None), Contains("matter", "lives in"), Contains("before", None, wanted=False)]
    result = evaluate(
        cases,
        metrics,
        display_config=DisplayConfig(print_results=False, show_indicator=False),
        cache_config=CacheConfig(write_cache=False, use_cache=False),
    )
    print("passed", sum(1 for case in result.test_results if case.success))


if __name__ == "__main__":
    main()
