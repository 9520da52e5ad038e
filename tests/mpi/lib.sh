# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Common part of the MPI tests. A test sources it, then says
#   each_mpi FUNCTION
# and FUNCTION runs once per MPI found, with $mpi, $mpicc set; it reports by
# ok TEXT and not_ok TEXT. `finish` ends the test.
set -u

[ -z "${ERGON_SANITIZERS:-}" ] || { echo "a preload cannot be sanitized"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
lib=$top_builddir/.libs/libergon-mpi.so
[ -f "$lib" ] || { echo "no $lib"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

ok() { echo "ok: $mpi: $*"; }
not_ok() { echo "NOT OK: $mpi: $*"; failures=$((failures + 1)); }

# check TEXT COMMAND...: the command succeeds
check() {
	text=$1
	shift
	if "$@"; then ok "$text"; else not_ok "$text"; fi
}

each_mpi() {
	ran=0
	for mpi in openmpi mpich; do
		case $mpi in
		openmpi) mpicc=$MPICC_OPENMPI mpirun=$MPIRUN_OPENMPI ;;
		mpich) mpicc=$MPICC_MPICH mpirun=$MPIRUN_MPICH ;;
		esac
		[ -n "$mpicc" ] && [ -n "$mpirun" ] || continue
		ran=1
		mkdir -p "$work/$mpi"
		"$@"
	done
	[ $ran = 1 ] || { echo "no MPI found"; exit 77; }
}

finish() {
	[ "$failures" = 0 ] && exit 0
	echo "$failures checks failed"
	exit 1
}

# launch N PRELOAD VARIABLE=VALUE... -- COMMAND...: PRELOAD may be empty.
# Output in $out and $err, exit status returned. Limit 90 s.
out=$work/out err=$work/err
launch() {
	launch_n=$1 launch_vars=
	[ -z "$2" ] || launch_vars=LD_PRELOAD=$2
	shift 2
	while [ "$1" != -- ]; do
		launch_vars="$launch_vars $1"
		shift
	done
	shift
	case $mpi in
	openmpi)
		launch_flags=
		for v in $launch_vars; do launch_flags="$launch_flags -x $v"; done
		# shellcheck disable=SC2086
		timeout -k 5 90 "$mpirun" --allow-run-as-root --oversubscribe --bind-to none \
			-np "$launch_n" \
			$launch_flags "$@" >"$out" 2>"$err" </dev/null
		;;
	mpich)
		launch_flags=
		for v in $launch_vars; do launch_flags="$launch_flags -genv ${v%%=*} ${v#*=}"; done
		# shellcheck disable=SC2086
		timeout -k 5 90 "$mpirun" -n "$launch_n" $launch_flags "$@" \
			>"$out" 2>"$err" </dev/null
		;;
	esac
}

# make_mockrank: $work/mockrank, a rank of an MPI made from the table
make_mockrank() {
	awk -v part=library -f "$here/mock.awk" "$top_srcdir/pmpi/calls.in" >"$work/library.c"
	"$CC" -O1 -shared -fPIC -o "$work/libmock.so" "$work/library.c" &&
		"$CC" -O1 -o "$work/mockrank" "$here/mockrank.c" "$work/libmock.so" -Wl,-rpath,"$work" ||
		{ echo "cannot compile"; exit 1; }
}

# The numbers of the CPUs we may use.
allowed_cpus() {
	awk '/^Cpus_allowed_list/ { n = split($2, part, ",")
		for (i = 1; i <= n; i++) { split(part[i] "-" part[i], r, "-")
			for (c = r[1]; c <= r[2]; c++) printf "%d ", c } }' /proc/self/status
}

# calls FILE FUNCTION: the calls of a function in a rank file, 0 without a row
calls() {
	awk -F, -v f="$2" '$3 == f { n += $4 } END { print n + 0 }' "$1"
}

# A rank file is whole, its rows' times are the wall time, its state is $2.
whole() {
	awk -F, -v state="$2" '
	/^# start=/ { if (!match($0, / wall_s=[0-9.]+/)) exit 1
		wall = substr($0, RSTART + 8, RLENGTH - 8)
		if (index($0, " state=" state " ") == 0) { print FILENAME ": not " state; bad = 1 } }
	/^#/ { if ($0 ~ /^# end rows=/) { split($0, e, "="); end = e[2] } next }
	/^phase,/ { next }
	{ rows++; time += $5 }
	END {
		if (end != rows) { print FILENAME ": " rows " rows, end says " end; bad = 1 }
		if (time - wall > 1e-6 || wall - time > 1e-6) { print FILENAME ": rows " time " s, wall " wall; bad = 1 }
		exit bad
	}' "$1"
}

# live_dirs RESULTS: what the jobs that wrote there have in shared memory
live_dirs() {
	for step in "$1"/ergon.*; do
		find /dev/shm -maxdepth 1 -name "ergon.$(id -u).${step##*/ergon.}.*"
	done
}

no_live_dir() {
	left=$(live_dirs "$1")
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

# books_close RESULTS: ergon merge finds ranks + unattributed = node for every column
books_close() {
	"$top_builddir/ergon" merge "$1"/ergon.* >"$work/merged" 2>"$work/merged.err"
	grep '^conservation' "$work/merged" | grep -v ': OK ' && return 1
	grep -q '^conservation.*: OK ' "$work/merged" || { cat "$work/merged" "$work/merged.err"; return 1; }
}
