#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GPU joules reach the ranks' files: a machine with eight H100 and a stub of
# NVML, two ranks of a mock MPI, 254.5 J known.
. "$(dirname "$0")/lib.sh"

mpi=mock
make_mockrank
cp -R "$top_srcdir/tests/sysroots/dgx-h100" "$work/machine"
chmod -R u+w "$work/machine"
cp "$work/machine/gpus" "$work/gpus"

: >"$err"
tasks=
for r in 0 1; do
	(
		export LD_PRELOAD="$lib" PMI_RANK=$r PMI_SIZE=2 ERGON_OUTPUT_DIR="$work" \
			ERGON_SYSROOT="$work/machine" ERGON_MECHANISM=powercap+nvml \
			ERGON_SHARE=equal LD_LIBRARY_PATH="$top_builddir/tests/stub/.libs" \
			ERGON_TEST_GPUS="$work/gpus"
		exec "$work/mockrank" 3 2>>"$err"
	) &
	tasks="$tasks $!"
done
sleep 1.5
sed 's/^\(gpu 0000:1b:00.0 0 0\) [0-9]*/\1 9250000/; s/^\(gpu 0000:df:00.0 0 0\) [0-9]*/\1 9004507/' \
	"$work/gpus" >"$work/gpus.new"
mv "$work/gpus.new" "$work/gpus"
for task in $tasks; do wait "$task"; done

check "books" books_close "$work"
dir=$(echo "$work"/ergon.*)
check "mechanism and scope" grep -q 'mechanism=powercap+nvml scope=cpu+dram+gpu' "$dir"/rank.*.0.csv
check "254.5 J are the ranks'" awk -F, '
	/^phase,/ { for (i = 1; i <= NF; i++) if ($i == "gpu_j") column = i }
	!/^#/ && !/^phase,/ { sum += $column }
	END { printf "%.9f J\n", sum; exit !(sum > 254.4999 && sum < 254.5001) }' "$dir"/rank.*.csv
check "half of them rank 0's" awk -F, '
	/^phase,/ { for (i = 1; i <= NF; i++) if ($i == "gpu_j") column = i }
	!/^#/ && !/^phase,/ { sum += $column }
	END { printf "%.9f J\n", sum; exit !(sum > 127.24 && sum < 127.26) }' "$dir"/rank.*.0.csv
check "250 J are gpu0's" awk -F, '
	$1 == "gpu0" { print; good = $6 !~ /gap/ && $4 > 249.999 && $4 < 250.001 } END { exit !good }' "$dir"/node.*.csv
check "merge" grep -q "scope cpu+dram+gpu" "$work/merged"
finish
