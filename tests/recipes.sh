#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every row of recipes.txt names tests that exist, and no row is missing.
set -u
: "${top_srcdir:=.}"
table=$top_srcdir/tests/recipes.txt
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

rows=$(seq 1 7; seq 9 10; echo 12 14; seq 16 38; seq 41 46; seq 51 57; seq 59 63; seq 65 69; echo 71 74 76 77 79 81
	seq -f X%g 1 22)
for row in $rows; do
	[ "$(grep -c "^$row | .* | ." "$table")" -eq 1 ] || fail "row $row: not once in the table"
done
[ "$(grep -c '^X*[0-9]* |' "$table")" -eq "$(echo "$rows" | wc -w)" ] || fail "rows that nobody knows"

# proven FILE:NAME or MACHINE
proven() {
	file=$top_srcdir/${1%%:*} name=${1##*:}
	case $1 in
	tests/sysroots/*)
		[ -s "$file/expect.json" ] ;;
	*.c:*)
		# The function, and its place in the list of tests.
		grep -q "^static void $name(void \*\*state)" "$file" && grep -q "(${name}[,)]" "$file" ;;
	*.sh:*)
		grep -qw -e "$name" "$file" ;;
	*)
		false ;;
	esac
}

while IFS='|' read -r row _ tests; do
	for test in $tests; do
		proven "$test" || fail "row $row: $test: no such test"
	done
done << EOF
$(grep -v -e '^#' -e '^$' "$table")
EOF
exit $failed
