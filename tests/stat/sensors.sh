#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Clock rate and temperature of a run, on a machine whose files the run itself changes.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

cp -R "$top_srcdir/tests/sysroots/skylake-server" "$tmp/root"
chmod -R u+w "$tmp/root"
export ERGON_SYSROOT="$tmp/root"
rm -rf "$tmp/root/sys/devices/system/cpu" "$tmp/root/sys/class/hwmon"

# told MEMBER: of the last result
told() { jq "$1" "$tmp/json"; }
quiet() { ! grep -q -e MHz -e degC "$tmp/err"; }
same() { [ "$1" = "$2" ]; }

check_exit 0 "no sensors" "$ergon" stat --json "$tmp/json" -- true
check "null, not 0" same "$(told '[.freq_mhz, .freq_mhz_max, .temp_c, .temp_c_max] | all(. == null)')" true
check "and nothing in the table" quiet

# Two policies, the first of three CPUs; two packages and a disk that is hotter.
export policies="$tmp/root/sys/devices/system/cpu/cpufreq" hwmon="$tmp/root/sys/class/hwmon"
mkdir -p "$policies/policy0" "$policies/policy3" "$hwmon/hwmon0" "$hwmon/hwmon4" "$hwmon/hwmon7"
echo "0 1 2" > "$policies/policy0/affected_cpus"
echo 1000000 > "$policies/policy0/scaling_cur_freq"
echo 3 > "$policies/policy3/affected_cpus"
echo 3000000 > "$policies/policy3/scaling_cur_freq"
i=0
for n in 7 4; do
	echo coretemp > "$hwmon/hwmon$n/name"
	echo "Package id $i" > "$hwmon/hwmon$n/temp1_label"
	echo 4${n}500 > "$hwmon/hwmon$n/temp1_input"
	i=$((i + 1))
done
echo nvme > "$hwmon/hwmon0/name"
echo 91000 > "$hwmon/hwmon0/temp1_input"

check_exit 0 "a short run" "$ergon" stat --json "$tmp/json" -- true
check "mean of the CPUs, not of the policies" holds "$(told .freq_mhz) == 1500"
check "the hottest package" holds "$(told .temp_c) == 47.5"
check "in the table" grep -q '1500.0 MHz, mean of the CPUs (1500.0 to 1500.0)' "$tmp/err"
check "the temperature, too" grep -q '47.5 degC, mean of the hottest package (at most 47.5)' "$tmp/err"

# Half of the time at 1.5 GHz, half at 3 GHz; the other package becomes the hottest.
# shellcheck disable=SC2016 # for the inner shell
check_exit 0 "a run that speeds up" "$ergon" stat --json "$tmp/json" -- sh -c 'sleep 1.5
	echo 3000000 > "$policies/policy0/scaling_cur_freq"
	echo 70250 > "$hwmon/hwmon4/temp1_input"
	sleep 1.5'
check "$(told .freq_mhz) MHz lies between" holds "$(told .freq_mhz) > 1950 && $(told .freq_mhz) < 2550"
check "the highest" holds "$(told .freq_mhz_max) == 3000"
check "$(told .temp_c) degC lies between" holds "$(told .temp_c) > 52 && $(told .temp_c) < 64"
check "the highest temperature" holds "$(told .temp_c_max) == 70.25"

echo "SensorFreq = 0" > "$ERGON_CONF"
check_exit 0 "switched off" "$ergon" stat --json "$tmp/json" -- true
check "null" same "$(told .freq_mhz)" null
check "and quiet" quiet
echo "SensorFreq = 11" > "$ERGON_CONF"
check_exit 1 "too fast" "$ergon" stat -- touch "$tmp/ran"
check "told where" grep -q "ergon.conf:1: SensorFreq = '11'" "$tmp/err"
finish
