#!/bin/bash
# labels: long starts-first
# The two commands work on a fresh Debian.
set -euo pipefail
if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    echo "needs root: skipped"
    exit 77
fi
exec tools/clean-machine test run
