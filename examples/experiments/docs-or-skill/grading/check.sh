# Passes when the agent's sum is that of the key.
set -euo pipefail
diff <(tr -d '[:space:]' < /workspace/sum.txt) <(tr -d '[:space:]' < /workspace/grading/expected.txt)
