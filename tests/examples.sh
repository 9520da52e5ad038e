#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The example compiles without a warning with each MPI and computes the same
# with every number of ranks.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
flags=(-std=gnu11 -O2 -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2 -Werror)
failed=0 tried=0 first=''

# try NAME MPICC MPIRUN...
try() {
	local name=$1 mpicc=$2 n out
	shift 2
	[ -n "$mpicc" ] && [ -n "$1" ] || { echo "$name: not found, left out"; return; }
	tried=$((tried + 1))
	"$mpicc" "${flags[@]}" -o "$tmp/$name" "$top_srcdir/examples/heat2d.c" -lm || { failed=1; return; }
	for n in 1 2 3; do
		out=$(timeout 60 "$@" -n $n "$tmp/$name" --size 90 --steps 41 --imbalance 0.$n 2>"$tmp/err")
		[ -n "$first" ] || first=$out
		if [[ $out =~ ^heat2d:.*checksum ]] && [ "$out" = "$first" ]; then
			echo "$name, $n ranks: $out"
		else
			echo "$name, $n ranks: got '$out', expected '$first'"
			cat "$tmp/err"
			failed=1
		fi
	done
	timeout 60 "$@" -n 1 "$tmp/$name" --steps 0 >"$tmp/out" 2>&1
	[ $? -ne 0 ] && grep -q "^heat2d: --steps '0': expected" "$tmp/out" || {
		echo "$name: --steps 0 is not refused:"
		cat "$tmp/out"
		failed=1
	}
}

try openmpi "${MPICC_OPENMPI-}" "${MPIRUN_OPENMPI-}" --oversubscribe
try mpich "${MPICC_MPICH-}" "${MPIRUN_MPICH-}"
[ $tried -gt 0 ] || exit 77
exit $failed
