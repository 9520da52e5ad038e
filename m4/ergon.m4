# SPDX-License-Identifier: BSD-3-Clause

# ERGON_KEEP_CORE: configure removes core dumps by the name `core`, which is a
# folder of ours: an error message at every check, and confdefs.h left behind
# because the rest of the command is skipped. Leaves that name out.
AC_DEFUN([ERGON_KEEP_CORE], [
rm ()
{
  for ergon_arg
  do
    shift
    AS_IF([test "x$ergon_arg" != xcore], [set dummy ${1+"$[]@"} "$ergon_arg"; shift])
  done
  command rm ${1+"$[]@"}
}])

# ERGON_NOTE(LABEL, TEXT): a line of the closing summary.
AC_DEFUN([ERGON_NOTE], [ergon_summary="$ergon_summary
  $1: $2"])

AC_DEFUN([ERGON_SUMMARY], [
AC_MSG_NOTICE([

  ergon $PACKAGE_VERSION
  prefix: $prefix
  compiler: $CC
  warnings are errors: $enable_werror, sanitizers: $enable_sanitizers$ergon_summary
])])

# The warning set; --enable-werror.
AC_DEFUN([ERGON_WARNINGS], [
AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
  [], [enable_werror=no])
WARN_CFLAGS="-Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2"
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])])

# --enable-sanitizers[=LIST]: address,undefined by default.
AC_DEFUN([ERGON_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
  [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
     [build with -fsanitize=LIST (address,undefined)])],
  [AS_IF([test "x$enableval" = xyes], [enable_sanitizers=address,undefined])],
  [enable_sanitizers=no])
AS_IF([test "x$enable_sanitizers" != xno], [
  SANITIZE_FLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"])
AC_SUBST([SANITIZE_FLAGS])
AM_CONDITIONAL([SANITIZED], [test "x$enable_sanitizers" != xno])])

# ERGON_OPTION_PKG(NAME, VARIABLE, MODULES, WHAT FOR): --with-NAME=yes|no|auto
AC_DEFUN([ERGON_OPTION_PKG], [
AC_ARG_WITH([$1],
  [AS_HELP_STRING([--with-$1=yes|no|auto], [$4 (auto)])],
  [], [with_$1=auto])
have_$1=no
AS_IF([test "x$with_$1" = xno], [ERGON_NOTE([$1], [no (--without-$1): without $4])], [
  PKG_CHECK_MODULES([$2], [$3], [
    have_$1=yes
    AC_DEFINE([HAVE_$2], [1], [$4])
    ERGON_NOTE([$1], [yes: $4])
  ], [
    AS_IF([test "x$with_$1" = xyes], [AC_MSG_ERROR([--with-$1: $3 not found])])
    ERGON_NOTE([$1], [no ($3 not found): without $4])])])
AM_CONDITIONAL([HAVE_$2], [test "x$have_$1" = xyes])])

# The SPANK plugin: --with-slurm=yes|no|auto|DIR, --with-slurm-plugindir=DIR
AC_DEFUN([ERGON_SLURM], [
AC_ARG_WITH([slurm],
  [AS_HELP_STRING([--with-slurm=yes|no|auto|DIR],
     [the Slurm plugin; DIR holds include/slurm/spank.h (auto)])],
  [], [with_slurm=auto])
AC_ARG_WITH([slurm-plugindir],
  [AS_HELP_STRING([--with-slurm-plugindir=DIR],
     [where the plugin is installed (LIBDIR/slurm)])],
  [slurmplugindir="$withval"], [slurmplugindir='${libdir}/slurm'])
AC_SUBST([slurmplugindir])
have_slurm=no
AS_CASE(["$with_slurm"], [no], [], [
  AS_CASE(["$with_slurm"], [yes|auto], [], [SLURM_CFLAGS="-I$with_slurm/include"])
  ergon_save_CPPFLAGS="$CPPFLAGS"
  CPPFLAGS="$CPPFLAGS $SLURM_CFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [
    have_slurm=yes
    AC_COMPUTE_INT([slurm_major], [SLURM_VERSION_NUMBER >> 16], [[#include <slurm/slurm_version.h>]], [slurm_major=0])
    AC_COMPUTE_INT([slurm_minor], [(SLURM_VERSION_NUMBER >> 8) & 255], [[#include <slurm/slurm_version.h>]], [slurm_minor=0])
    SLURM_RELEASE=`printf '%02d.%02d' "$slurm_major" "$slurm_minor"`
  ], [AS_IF([test "x$with_slurm" != xauto],
        [AC_MSG_ERROR([--with-slurm: slurm/spank.h not found])])])
  CPPFLAGS="$ergon_save_CPPFLAGS"])
AS_IF([test "x$have_slurm" = xyes],
  [ERGON_NOTE([slurm plugin], [yes, for Slurm $SLURM_RELEASE, to $slurmplugindir])],
  [AS_IF([test "x$with_slurm" = xno], [ERGON_NOTE([slurm plugin], [no (--without-slurm)])],
     [ERGON_NOTE([slurm plugin], [no (slurm/spank.h not found)])])])
AC_SUBST([SLURM_CFLAGS])
AC_SUBST([SLURM_RELEASE])
AM_CONDITIONAL([HAVE_SLURM], [test "x$have_slurm" = xyes])])

# MPI compilers, for tests and examples only: the library needs none.
AC_DEFUN([ERGON_MPI], [
AC_ARG_VAR([MPICC_OPENMPI], [Open MPI compiler wrapper, for tests])
AC_ARG_VAR([MPICC_MPICH], [MPICH compiler wrapper, for tests])
AC_PATH_PROGS([MPICC_OPENMPI], [mpicc.openmpi])
AC_PATH_PROGS([MPIRUN_OPENMPI], [mpirun.openmpi])
AC_PATH_PROGS([MPICC_MPICH], [mpicc.mpich])
AC_PATH_PROGS([MPIRUN_MPICH], [mpirun.mpich])
AS_IF([test -n "$MPICC_OPENMPI"], [ERGON_NOTE([tests with Open MPI], [yes])],
  [ERGON_NOTE([tests with Open MPI], [no (mpicc.openmpi not found)])])
AS_IF([test -n "$MPICC_MPICH"], [ERGON_NOTE([tests with MPICH], [yes])],
  [ERGON_NOTE([tests with MPICH], [no (mpicc.mpich not found)])])
AM_CONDITIONAL([HAVE_OPENMPI], [test -n "$MPICC_OPENMPI"])
AM_CONDITIONAL([HAVE_MPICH], [test -n "$MPICC_MPICH"])])

# ERGON_EBPF: --with-ebpf=yes|no|auto. A program for the kernel needs clang and bpftool at
# build time; libbpf is opened at run time, only its headers are needed here. What counts
# is that the tools do their work: Debian's clang finds asm/types.h only when it is told
# where, Ubuntu's bpftool is a script that may have nothing to call.
AC_DEFUN([ERGON_EBPF], [
AC_ARG_WITH([ebpf],
  [AS_HELP_STRING([--with-ebpf=yes|no|auto], [the ebpf mechanism (auto)])],
  [], [with_ebpf=auto])
AC_ARG_VAR([BPF_CLANG], [clang that compiles for the kernel])
AC_ARG_VAR([BPFTOOL], [bpftool])
ergon_ebpf_missing=
AS_IF([test "x$with_ebpf" = xno], [ergon_ebpf_missing="--without-ebpf"], [
  PKG_CHECK_MODULES([LIBBPF], [libbpf >= 1.0], [], [ergon_ebpf_missing="libbpf >= 1.0 not found"])
  AC_PATH_PROGS([BPF_CLANG], [clang])
  AC_PATH_PROGS([BPFTOOL], [bpftool], [], [$PATH:/usr/sbin:/sbin])
  AS_IF([test -z "$ergon_ebpf_missing" && test -z "$BPF_CLANG"], [ergon_ebpf_missing="clang not found"])
  AS_IF([test -z "$ergon_ebpf_missing" && test -z "$BPFTOOL"], [ergon_ebpf_missing="bpftool not found"])
  AS_IF([test -z "$ergon_ebpf_missing"], [ERGON_EBPF_TRY])])
AS_IF([test -z "$ergon_ebpf_missing"],
  [ERGON_NOTE([ebpf], [yes: the ebpf mechanism])],
  [AS_IF([test "x$with_ebpf" = xyes], [AC_MSG_ERROR([--with-ebpf: $ergon_ebpf_missing])])
   ERGON_NOTE([ebpf], [no ($ergon_ebpf_missing): without the ebpf mechanism])])
AC_SUBST([BPF_CPPFLAGS])
AC_DEFINE_UNQUOTED([ERGON_EBPF_MISSING], ["$ergon_ebpf_missing"], [why there is no ebpf mechanism])
AM_CONDITIONAL([HAVE_EBPF], [test -z "$ergon_ebpf_missing"])])

AC_DEFUN([ERGON_EBPF_TRY], [
AC_MSG_CHECKING([whether $BPF_CLANG and $BPFTOOL make BPF programs])
cat >conftest.bpf.c <<_ERGON_EOF
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");
SEC("perf_event") int tick(void *ctx) { return ctx == 0; }
_ERGON_EOF
ergon_ebpf_missing="$BPF_CLANG -target bpf does not compile"
for ergon_dir in '' "/usr/include/`$CC -print-multiarch 2>/dev/null`"; do
  BPF_CPPFLAGS="$LIBBPF_CFLAGS${ergon_dir:+ -idirafter $ergon_dir}"
  AS_IF([$BPF_CLANG -g -O2 -target bpf $BPF_CPPFLAGS -c conftest.bpf.c -o conftest.bpf.o >&AS_MESSAGE_LOG_FD 2>&1],
    [ergon_ebpf_missing="$BPFTOOL gen skeleton does not work"; break])
done
AS_IF([$BPFTOOL gen skeleton conftest.bpf.o name conftest >conftest.skel.h 2>&AS_MESSAGE_LOG_FD &&
       test -s conftest.skel.h], [ergon_ebpf_missing=])
rm -f conftest.bpf.c conftest.bpf.o conftest.skel.h
AS_IF([test -z "$ergon_ebpf_missing"], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])])
