#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs every part of the bench; `make bench` sets the environment. Compare
# ratios, and only those of one run: absolute times belong to one machine.
export LC_ALL=C
echo "$(date -u +%Y-%m-%d), $(uname -m), $(nproc) CPUs,$(awk -F: '/^model name/ { print $2; exit }' /proc/cpuinfo)," \
	"load $(cut -d' ' -f1 /proc/loadavg)"
for part in "${top_srcdir:?make bench sets it}"/tests/bench/bench_*.sh; do
	echo
	echo "== $(basename "$part" .sh | sed 's/^bench_//')"
	case $(head -n 1 "$part") in
	*bash) bash "$part" ;;
	*) sh "$part" ;;
	esac || echo "not measured (exit $?)"
done
