#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Our scripts pass shellcheck.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
cd "$top_srcdir" || exit 1
command -v shellcheck >/dev/null || { echo "shellcheck not found"; exit 77; }

mapfile -t scripts < <(
	for f in quickstart .ci/run; do [ ! -f $f ] || echo $f; done
	find tests -type f ! -path '*/sysroots/*' | sort | while read -r f; do
		! head -n 1 "$f" | grep -qaE '^#!/bin/(ba)?sh' || echo "$f"
	done
)
[ ${#scripts[@]} -gt 3 ] || { echo "no scripts below $top_srcdir"; exit 1; }
# SC2034, SC2154: variables shared with a file that is sourced by a computed name.
shellcheck --severity=warning --exclude=SC2034,SC2154 "${scripts[@]}" && echo "${#scripts[@]} scripts clean"
