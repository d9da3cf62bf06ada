#!/usr/bin/env bash
# What the browser tests need beyond Python: Chromium, from Debian where that is possible without asking anybody, and
# axe. Nothing here is fatal: tests that miss something skip and say what.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        { apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium; } >/dev/null 2>&1 ||
            echo "Chromium could not be installed: browser tests will be skipped." >&2
    else
        echo "Chromium is missing: browser tests will be skipped." >&2
    fi
fi
.venv/bin/python tools/fetch_axe.py
