#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every header compiles alone, first in its file and twice, with gcc and clang.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${top_builddir:=$PWD}"
cd "$top_srcdir" || exit 1

flags=(-std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes
	-Werror -fsyntax-only -I"$top_builddir" -I"$top_builddir/pmpi"
	-Icore -Ipmpi -Ispank -Itools -Itests/unit -Itests/tools)
read -ra more < <(pkg-config --cflags hwloc jansson cmocka sqlite3 2>/dev/null)
flags+=(${more[@]+"${more[@]}"})

headers=$(find core pmpi spank tools tests -name '*.h' | sort)
[ -n "$headers" ] || { echo "no headers below $top_srcdir"; exit 1; }

compilers=() failed=0 n=0
for compiler in gcc clang; do
	command -v $compiler >/dev/null && compilers+=("$compiler")
done
[ ${#compilers[@]} -gt 0 ] || { echo "neither gcc nor clang found"; exit 77; }
for compiler in "${compilers[@]}"; do
	for header in $headers; do
		# The plugin's headers need Slurm's.
		if grep -q '<slurm/' "$header" &&
			! echo '#include <slurm/spank.h>' | $compiler -fsyntax-only -x c - 2>/dev/null; then
			echo "$header: slurm/spank.h not found, left out"
			continue
		fi
		n=$((n + 1))
		printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
			$compiler "${flags[@]}" -I. -x c - || { echo "$compiler: $header does not stand alone"; failed=$((failed + 1)); }
	done
done
echo "$n compilations (${compilers[*]}), $failed failed"
[ $failed -eq 0 ]
