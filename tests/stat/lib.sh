# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts here: a temporary directory, the program, checks.
set -u
export LC_ALL=C
ergon=$top_builddir/ergon
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-stat.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
unset ERGON_SYSROOT
# No configuration of this machine may change what is tested.
export ERGON_CONF=$tmp/ergon.conf
: > "$ERGON_CONF"
failures=0

# check WHAT COMMAND...: COMMAND must succeed.
check() {
	what=$1
	shift
	if "$@"; then
		echo "ok: $what"
	else
		echo "FAILED: $what"
		failures=$((failures + 1))
	fi
}

# check_exit CODE WHAT COMMAND...: COMMAND, its output in $tmp/out and $tmp/err, must exit with CODE.
check_exit() {
	code=$1 what=$2
	shift 2
	"$@" > "$tmp/out" 2> "$tmp/err"
	rc=$?
	[ $rc -eq "$code" ] || cat "$tmp/out" "$tmp/err"
	check "$what (exit $rc, expected $code)" [ $rc -eq "$code" ]
}

# An awk condition on numbers.
holds() { awk "BEGIN { exit !($1) }"; }

# The stand-in, or skip.
standin() {
	"$top_srcdir/tests/standin/make-sysroot" "$@" || exit $?
}

need_jq() {
	command -v jq > /dev/null || { echo "skipped: jq is not installed"; exit 77; }
}

finish() {
	[ $failures -eq 0 ] || echo "$failures checks failed"
	[ $failures -eq 0 ]
	exit
}
