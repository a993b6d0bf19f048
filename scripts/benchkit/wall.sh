# shellcheck shell=bash
# shellcheck disable=SC2154 # dir is set by the script that reads this

# wall RUNS NAME=COMMAND... runs shell commands in turn and prints for each the
# median of its wall time in ms, and its ratio to that of the first. RUN is
# the number of the run.
wall() {
	local runs=$1 first='' c
	shift
	rm -f "$dir"/wall.*
	# shellcheck disable=SC2034 # commands use it
	for RUN in $(seq "$runs"); do
		for c; do
			local start=$EPOCHREALTIME
			eval "${c#*=}" >/dev/null
			awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", (b - a) * 1000 }' >>"$dir/wall.${c%%=*}"
		done
	done
	for c; do
		local ms
		ms=$(sort -n "$dir/wall.${c%%=*}" | sed -n "$((runs / 2 + 1))p")
		first=${first:-$ms}
		awk -v n="${c%%=*}" -v m="$ms" -v f="$first" 'BEGIN { printf "%24s %10.1f ms %8.2f\n", n, m, m / f }'
	done
}
