#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that are not MPI programs notice nothing of the preload: output,
# exit status, errno, file descriptors, threads, files, libraries.
. "$(dirname "$0")/lib.sh"

mpi=untouched
mkdir "$work/dir"
"$CC" -O1 -o "$work/look" "$here/untouched.c" || exit 1

# same NAME COMMAND...: with and without the preload, in an empty directory
same() {
	name=$1
	shift
	(cd "$work/dir" && timeout -k 5 30 "$@") >"$out.plain" 2>"$err.plain" </dev/null
	plain=$?
	for bind in "" 1; do
		(cd "$work/dir" && LD_BIND_NOW=$bind LD_PRELOAD=$lib ERGON_OUTPUT_DIR=$work/dir PMI_RANK=0 \
			timeout -k 5 30 "$@") >"$out" 2>"$err" </dev/null
		with=$?
		check "$name, LD_BIND_NOW=$bind: exit status $plain" [ $with = $plain ]
		check "$name, LD_BIND_NOW=$bind: same output" cmp "$out.plain" "$out"
		check "$name, LD_BIND_NOW=$bind: same errors" cmp "$err.plain" "$err"
	done
	check "$name: no file" [ -z "$(ls -A "$work/dir")" ]
}

same true /bin/true
same false /bin/false
same "a shell" sh -c 'echo out; echo err >&2; (exit 3); echo $?; exit 4'
same "a pipeline" sh -c 'seq 1000 | tail -n 3 | { cat; }; exit 0'
same "a missing command" sh -c '/nonexistent/command'
[ -x /bin/bash ] && same bash bash -c 'declare -a a=(1 2 3); echo ${#a[@]}; ulimit -n >/dev/null; exit 6'

"$work/look" >"$out.plain"
check "alone" [ $? = 5 ]
LD_PRELOAD=$lib "$work/look" >"$out"
check "with the library" [ $? = 0 ]
cat "$out"
check "same errno, fds, threads, libraries" cmp "$out.plain" "$out"
check "no errno, no thread, no library" grep -q "^errno 0 fds [0-9]* threads 1 mpi 0$" "$out"
finish
