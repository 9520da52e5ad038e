#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the shared objects give to and want from the process they are loaded
# into: no export and no library more than meant.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${top_builddir:=$PWD}"
libs=$top_builddir/.libs
failed=0

[ -z "${ERGON_SANITIZERS-}" ] || { echo "sanitizers add symbols and libraries of their own"; exit 77; }

complain() { echo "$*"; failed=1; }

exports() { nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort; }

# expect OBJECT WHAT EXPECTED FOUND (lines)
expect() {
	local difference
	difference=$(diff <(echo "$3") <(echo "$4")) && return
	complain "$1: $2 differ (< expected, > found):"
	grep '^[<>]' <<<"$difference"
}

# --- the interposer: the MPI names of its table, nothing else; libc only
so=$libs/libergon-mpi.so
if [ -f "$so" ]; then
	wanted=$(awk -F'[ \t]+' '/^MPI_/ { print $1 }' "$top_srcdir/pmpi/calls.in" | sort)
	[ -n "$wanted" ] || complain "pmpi/calls.in: no MPI_ rows found"
	expect "$so" exports "$wanted" "$(exports "$so")"
	expect "$so" "needed libraries" "libc.so.6" "$(needed "$so" | grep -v '^ld-linux')"
	undefined=$(nm -D --undefined-only "$so" | awk '$1 == "U" { print $2 }' | grep -E '^P?MPI_')
	[ -z "$undefined" ] || complain "$so: wants at load time: $undefined"
else
	complain "$so: not built"
fi

# --- the sampler module: what the interposer looks up
so=$libs/ergon-sampler.so
if [ -f "$so" ]; then
	expect "$so" exports "$(printf '%s\n' ergon_sampling_start ergon_sampling_stop)" "$(exports "$so")"
else
	complain "$so: not built"
fi

# --- the plugin: SPANK's entry points and descriptors; never libslurm, libmpi
so=$libs/spank_ergon.so
if [ -f "$so" ]; then
	# "init", "fini" or "spank_options" here would hide Slurm's, or lose options.
	expect "$so" exports "$(printf '%s\n' plugin_name plugin_type plugin_version slurm_spank_exit slurm_spank_init \
		slurm_spank_init_post_opt slurm_spank_task_exit slurm_spank_user_init spank_plugin_version)" "$(exports "$so")"
	bad=$(needed "$so" | grep -E 'slurm|libmpi|jansson|sqlite')
	[ -z "$bad" ] || complain "$so: needs $bad"
else
	echo "$so: not built (no Slurm headers)"
fi
exit $failed
