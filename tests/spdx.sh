#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every source file says its licence in its first lines.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
cd "$top_srcdir" || exit 1
failed=0 n=0

# What is ours and is code: by name, or by its first line.
sources() {
	find . \( -name .git -o -name build-aux -o -name autom4te.cache -o -name 'build*' -o -name _build -o -name _inst -o -name sysroots -o -name golden \
		-o -name 'ergon-*' \) -prune -o -type f -print | sort | while read -r f; do
		case $f in
		*.c | *.h | *.sh | *.mk | *.awk | *.in | *.map | ./Makefile.am | ./configure.ac | ./m4/ergon*.m4)
			[ "$f" = ./config.h.in ] || [ "$f" = ./Makefile.in ] || echo "$f" ;;
		./configure | ./libtool | *.*) ;; # made by autotools; text
		*) ! head -c 2 "$f" | grep -q '^#!' || echo "$f" ;;
		esac
	done
}

while read -r f; do
	case $f in
	./etc/*.in) continue ;; # what an administrator edits
	esac
	n=$((n + 1))
	head -n 5 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || {
		echo "$f: no SPDX-License-Identifier: BSD-3-Clause in its first 5 lines"
		failed=$((failed + 1))
	}
done < <(sources)
echo "$n files, $failed without a licence"
[ $n -gt 20 ] || { echo "too few files found below $top_srcdir"; failed=1; }
[ $failed -eq 0 ]
