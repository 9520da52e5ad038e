#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a command run by `ergon stat` and its caller must not notice, and what bad usage gets.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

# A machine without counters: auto takes the model, perf cannot be had.
mkdir -p "$tmp/root/sys"
ln -s /proc "$tmp/root/proc"
ln -s /sys/devices "$tmp/root/sys/devices"
export ERGON_SYSROOT="$tmp/root"

one_line() { [ "$(wc -l < "$tmp/err")" -eq 1 ]; }
says() { grep -q -e "$1" "$tmp/err"; }
absent() { [ ! -e "$1" ]; }
same_files() { cmp "$1" "$2"; }

# --- exit status ---
check_exit 0 "success" "$ergon" stat true
check_exit 3 "failure" "$ergon" stat -- sh -c 'exit 3'
check_exit 143 "killed by a signal" "$ergon" stat --json "$tmp/json" -- sh -c 'kill -TERM $$'
check "the same in JSON" [ "$(jq .exit "$tmp/json")" -eq 143 ]
check_exit 127 "not found" "$ergon" stat -- no-such-command-here
check "one line names it" one_line && check "and says why" says "no-such-command-here.*No such file"
: > "$tmp/data"
check_exit 126 "not executable" "$ergon" stat -- "$tmp/data"
check "one line" one_line
check_exit 126 "a directory" "$ergon" stat -- "$tmp"
check_exit 5 "with SIGCHLD ignored" env --ignore-signal=CHLD "$ergon" stat -- sh -c 'exit 5'

# --- wrong usage: 2, and the command does not run ---
for bad in "" "-F 0" "-F 1001" "-F fast" "-F nan" "-d watts" "-d" "-m rapl" "-m perf,nothing" "--nonsense"; do
	# shellcheck disable=SC2086
	check_exit 2 "usage: '$bad'" "$ergon" stat $bad ${bad:+-- touch "$tmp/ran"}
done
check_exit 2 "unknown domain" "$ergon" stat -d package,watts -- touch "$tmp/ran"
check "the domains are listed" says "'watts'.*package, core, uncore, dram, platform"
check_exit 1 "a domain that is not there" "$ergon" stat -d dram -- touch "$tmp/ran"
check "what there is is listed" says "no domain dram.*package"
check_exit 1 "a mechanism that cannot be had" "$ergon" stat -m perf -- touch "$tmp/ran"
check "one line" one_line
check "with the reason" says "perf: "
check_exit 1 "samples cannot be written" "$ergon" stat -o "$tmp/none/samples.csv" -- touch "$tmp/ran"
check "one line with the path" says "none/samples.csv: No such file"
check_exit 1 "JSON cannot be written" "$ergon" stat --json "$tmp/none/json" -- touch "$tmp/ran"
check_exit 1 "a configuration that is not there" "$ergon" stat --config "$tmp/none" -- touch "$tmp/ran"
check "nothing was run" absent "$tmp/ran"
check_exit 0 "help" "$ergon" stat --help
check "help is on stdout" grep -q -- '--domains' "$tmp/out"
check_exit 0 "help by the other way" "$ergon" help stat
check "the same help" grep -q -- '--domains' "$tmp/out"
check_exit 0 "help about help" "$ergon" help --help
check_exit 2 "no such option" "$ergon" stat --nonsense
check "told by ergon" says "^ergon stat: "
check_exit 2 "JSON without a file" "$ergon" stat --json -- touch "$tmp/ran"
check "told what is wrong" says "'--' is an option"
check_exit 4 "a full disk does not hide the status" "$ergon" stat -o /dev/full --json /dev/full -- sh -c 'exit 4'
check "but it is told" says "/dev/full: .*No space"

# --- auto without counters is a model, and says so ---
check_exit 0 "auto" "$ergon" stat --json "$tmp/json" -- sleep 0.1
check "estimated in the table" says "estimated: "
check "estimated in JSON" [ "$(jq -c '[.mechanism, .scope, .flags[0]]' "$tmp/json")" = '["model","estimate","estimated"]' ]
check "members of the JSON" [ "$(jq -c 'keys' "$tmp/json")" = \
	'["command","cpu_s","domains","elapsed_s","exit","flags","freq_mhz","freq_mhz_max","mechanism","missed","samples","scope","self","temp_c","temp_c_max","total_j","v"]' ]
check_exit 0 "label and odd bytes" "$ergon" stat --label 'run "1"' --json "$tmp/json" -- printf "$(printf '\377\\n')"
check "valid JSON" [ "$(jq -r .label "$tmp/json")" = 'run "1"' ]
check_exit 0 "JSON on stdout" "$ergon" stat --json - -- true
check "and nothing else" [ "$(jq .exit "$tmp/out")" -eq 0 ] && check "no table then" [ ! -s "$tmp/err" ]

# --- bytes in, bytes out ---
head -c 300000 /dev/urandom > "$tmp/random"
check_exit 0 "stdin to stdout" sh -c '"$1" stat -- cat < "$2"' sh "$ergon" "$tmp/random"
check "bytes are the same" same_files "$tmp/random" "$tmp/out"

# --- output that goes nowhere is not kept quiet ---
check_exit 2 "one file for both" "$ergon" stat -o "$tmp/same" --json "$tmp/same" -- true
check "said" grep -q 'both name' "$tmp/err"
check_exit 2 "samples to stdout" "$ergon" stat -o - -- true
rc=0
"$ergon" help config > /dev/full 2> "$tmp/err" || rc=$?
check "a full standard output (exit $rc)" [ $rc -eq 1 ]
check "said" grep -q 'cannot write the output' "$tmp/err"

# --- what the command inherits ---
look='for fd in /proc/self/fd/*; do echo "$fd"; done; grep ^Sig[^Q] /proc/self/status; ulimit -a; env | grep -v ^_=; pwd; umask; ps -o nice= -p $$'
compare() {
	what=$1
	shift
	"$@" sh -c "$look" > "$tmp/plain" 2>&1 < /dev/null
	"$@" "$ergon" stat -o "$tmp/s.csv" --json "$tmp/json" -- sh -c "$look" > "$tmp/under" 2> /dev/null < /dev/null
	# What goes to stderr belongs to neither list.
	check "$what" diff "$tmp/plain" "$tmp/under"
}
compare "descriptors, signals, limits, environment"
compare "the same when the caller ignores signals" env --ignore-signal=HUP,INT,PIPE,CHLD
"$ergon" stat -o "$tmp/s.csv" -- sh -c 'echo x; exit 6' > "$tmp/out" 2>&-
rc=$?
check "stderr closed: status (exit $rc)" [ $rc -eq 6 ]
check "stderr closed: only samples in the file" sh -c '! grep -q Energy "$1"' sh "$tmp/s.csv"

# --- signals ---
cat > "$tmp/trapper" <<'END'
for sig in HUP INT QUIT TERM USR1 USR2; do trap "echo $sig >> $1" $sig; done
trap 'exit 9' ALRM
echo ready > "$1"
while :; do sleep 0.05; done
END
wait_for() { # FILE TEXT
	i=0
	until grep -q "$2" "$1" 2> /dev/null; do
		i=$((i + 1))
		[ $i -lt 200 ] || return 1
		sleep 0.05
	done
}
env --default-signal=HUP,INT,QUIT "$ergon" stat -- sh "$tmp/trapper" "$tmp/got" 2> /dev/null &
pid=$!
check "the command is there" wait_for "$tmp/got" ready
for sig in HUP INT QUIT TERM USR1 USR2; do
	kill -$sig $pid
	check "$sig is forwarded" wait_for "$tmp/got" $sig
done
kill -ALRM $pid
wait $pid
rc=$?
check "it ends when the command does (exit $rc)" [ $rc -eq 9 ]
check "each signal once" [ "$(wc -l < "$tmp/got")" -eq 7 ]

# The terminal's interrupt reaches the whole process group: it must not be sent again.
# exec: a shell between would die of it.
if script -qec true /dev/null > /dev/null 2>&1; then
	rm -f "$tmp/got"
	(wait_for "$tmp/got" ready; printf '\003'; sleep 1) |
		timeout 60 script -qec "exec '$ergon' stat -- sh -c 'trap \"echo INT >> $tmp/got\" INT; echo ready > $tmp/got
			i=0; while [ \$i -lt 30 ]; do sleep 0.1; i=\$((i + 1)); done; exit 8'" /dev/null > "$tmp/out" 2>&1
	rc=$?
	check "interrupt from the terminal: status (exit $rc)" [ $rc -eq 8 ]
	check "interrupt from the terminal: once" [ "$(grep -c INT "$tmp/got")" -eq 1 ]
	check "interrupt from the terminal: the summary is there" grep -q Energy "$tmp/out"
else
	echo "not tested without script(1) and a pseudo-terminal: interrupt from the terminal"
fi

# Nobody reads our output: we can be interrupted all the same.
mkfifo "$tmp/fifo"
timeout 20 "$ergon" stat -o "$tmp/fifo" -- true 2> /dev/null &
pid=$!
sleep 0.5
kill -TERM $pid
wait $pid
rc=$?
check "waiting for a reader ends with a signal (exit $rc)" [ $rc -eq 143 ]

# A command that waits to be let go does not outlive a failed start.
check_exit 1 "nothing left behind" "$ergon" stat -o "$tmp/none/x" -- sleep 1234567
check "nothing left behind" sh -c '! pgrep -f "^sleep 1234567" > /dev/null'
finish
