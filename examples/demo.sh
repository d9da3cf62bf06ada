#!/usr/bin/env bash
# The main job, as a newcomer would do it: from a table to a release, its certificate and its cost in utility.
# `make demo` sets everything up and runs this. It works from any directory and starts afresh each time.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONUTF8=1                  # the output contains Greek letters
[ -t 1 ] || export COLUMNS=110       # a pipe or a log has no width of its own

if ! command -v rankveil >/dev/null; then
    echo "rankveil is not on the PATH. Run 'make demo', which installs it into .venv first." >&2
    exit 1
fi

table=examples/adult.csv.gz
plan=examples/adult.toml
out=demo-output

heading() { printf '\n== %s\n' "$1"; }
say()     { printf '%s\n' "$@"; }
run()     { printf '\n$ %s\n' "$*"; "$@"; }

rm -rf "$out"
mkdir "$out"
export RANKVEIL_LEDGER="$out/ledger.sqlite"   # a ledger of the demo's own

say "rankveil on Adult: 32,561 people, 15 columns (UCI Machine Learning Repository, CC BY 4.0)."

heading "1. Draft a plan"
say "A plan states what is public about a table. A draft can only guess it, from the data."
run rankveil init "$table" --out "$out/draft.internal.toml"

heading "2. A draft is not enough"
say "Limits read from the data would give the data away, so a release refuses guesses nobody has confirmed."
code=0
run rankveil release "$table" --plan "$out/draft.internal.toml" --out "$out/refused" --quiet || code=$?
if [ "$code" -ne 2 ]; then
    echo "The draft should have been refused with exit code 2; the exit code was $code." >&2
    exit 1
fi
say "" "Refused, as it should be (exit code 2: the plan needs a change)."

heading "3. Look before you spend"
say "$plan holds public limits and says where each comes from. The dry run counts the rows and reads nothing else."
run rankveil release "$table" --plan "$plan" --dry-run

heading "4. Release"
run rankveil release "$table" --plan "$plan" --out "$out/release" --quiet

heading "5. What is promised"
say "The certificate is written for the public. Its key lines:" ""
python3 - "$out/release/certificate.json" <<'PYTHON'
import json
import sys
import textwrap

with open(sys.argv[1], encoding="utf-8") as file:
    certificate = json.load(file)
for name in ("method", "differentially_private", "epsilon", "statement", "neighbours", "theorem", "rows"):
    value = certificate[name]
    text = value if isinstance(value, str) else json.dumps(value)
    lines = textwrap.wrap(text, 80) or [""]
    print(f"  {name:<24}" + ("\n" + " " * 26).join(lines))
PYTHON

heading "6. What it cost"
say "Distance between the release and the original. Only you may see this: it is computed from the original." \
    "The release holds fresh rows, none of which belongs to a person, so rows are not compared."
run rankveil evaluate "$table" "$out/release" --plan "$plan" --quiet
say "" "The same as a page with charts, and for programs. A learner taught by the release is examined on other people."
report=(rankveil evaluate "$table" "$out/release" --plan "$plan" --quiet --target income --test examples/adult_test.csv.gz
    --html "$out/evaluation.internal.html" --json)
printf '\n$ %s\n' "${report[*]} > $out/evaluation.internal.json"
"${report[@]}" > "$out/evaluation.internal.json"

heading "7. For comparison: the method as the paper published it"
say "It is not differentially private: equal values show which rows share a cluster, a single person's value" \
    "can change that, and no noise covers it. Hence the explicit consent. Compare the numbers all the same."
run rankveil release "$table" --plan "$plan" --out "$out/published" --quiet \
    --method published:individual-ranking --k 50 --accept-no-guarantee
run rankveil evaluate "$table" "$out/published" --plan "$plan" --quiet

heading "Where to look"
look() { printf '  %-38s  %s\n' "$1" "$2"; }
look "$out/release/release.csv" "the release: may be published"
look "$out/release/certificate.json" "what holds for it: publish it alongside"
look "$out/evaluation.internal.html" "what it cost, with charts; open it in a browser: internal, not to be published"
look "$out/evaluation.internal.json" "the same figures for programs: internal too"
look "$out/draft.internal.toml" "the refused draft: internal, it shows limits of the data"
look "$out/published/" "the paper's method, for comparison: not to be published"
look "$plan" "the plan, with the source of every limit"
look "docs/reference/plan.md" "every entry a plan can have"
