# shellcheck shell=bash
# What build, up, down and nodes share: where the programs are, which of them
# are already there, and how a process is remembered and ended.
# The caller sets -euo pipefail and sources this file.

export HOME=${HOME:-$(cd ~ && pwd)}

cluster_src=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# GPUQOS_K8S names another module below this folder: another Kubernetes version. etcd,
# kwok and kubelet-devices only talk to it, so they are those of the module here with
# every version.
module=$cluster_src/${GPUQOS_K8S:-.}
cache=${GPUQOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuqos}
# Stopped from last to first: an API server whose etcd is gone hangs.
programs=(etcd kube-apiserver kube-controller-manager kube-scheduler kwok kubelet-devices)

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

note() {
	echo "${0##*/}: $*" >&2
}

# module_version PATH: the version of a Go module that go.mod requires.
module_version() {
	awk -v path="$1" '$1 == path && $2 ~ /^v/ { print $2; exit }' "$module/go.mod"
}

[[ -f $module/go.mod ]] || die "no go.mod in $module (GPUQOS_K8S=${GPUQOS_K8S:-})"
k8s_version=$(module_version k8s.io/kubernetes)
k8s_minor=$(cut -d. -f2 <<<"$k8s_version")
bin=$cache/bin-$k8s_version

# module_of PROGRAM, bin_of PROGRAM: where its version stands, and where it is built.
module_of() {
	case $1 in
	etcd | kwok | kubelet-devices) echo "$cluster_src" ;;
	*) echo "$module" ;;
	esac
}

bin_of() {
	local version
	version=$(module=$(module_of "$1") module_version k8s.io/kubernetes)
	echo "$cache/bin-$version"
}

# A program in the cache is good as long as go.mod and go.sum are those it was
# built from, and its source where that is here; its stamp is their hash.
module_hash() {
	local files=("$(module_of "$1")/go.mod" "$(module_of "$1")/go.sum")
	[[ $1 != kubelet-devices ]] || files+=("$cluster_src/kubelet-devices/"*.{go,s})
	cat "${files[@]}" | sha256sum | cut -c1-16
}

is_built() {
	local bin
	bin=$(bin_of "$1")
	[[ -x $bin/$1 && $(cat "$bin/.$1.stamp" 2>/dev/null) == "$(module_hash "$1")" ]]
}

# minor_of PROGRAM PATH: the 37 of v1.37.2, or nothing.
minor_of() {
	local flags=(--version)
	[[ $1 == kubectl ]] && flags=(version --client)
	"$2" "${flags[@]}" 2>/dev/null | sed -n 's/.* v1\.\([0-9]*\).*/\1/p' | head -n 1
}

# is_near PROGRAM PATH DISTANCE: may this version talk to ours?
is_near() {
	local minor
	minor=$(minor_of "$1" "$2") && [[ -n $minor ]] || return 1
	((minor - k8s_minor <= $3 && k8s_minor - minor <= $3))
}

# given_tool NAME: a program that the machine has already, if it will do.
given_tool() {
	local path=${KUBEBUILDER_ASSETS:-}/$1
	if [[ -n ${KUBEBUILDER_ASSETS:-} && -x $path ]]; then
		case $1 in
		etcd | kwok | kubelet-devices) echo "$path" && return ;;
		kubectl) is_near "$1" "$path" 1 && echo "$path" && return ;;
		*) is_near "$1" "$path" 0 && echo "$path" && return ;;
		esac
	fi
	[[ $1 == kubectl ]] && path=$(command -v kubectl) && is_near kubectl "$path" 1 && echo "$path"
}

# tool NAME: the path of a program; fails if it has yet to be built.
tool() {
	given_tool "$1" && return
	is_built "$1" && echo "$(bin_of "$1")/$1"
}

# start_time PID: clock ticks from boot to the start of a process. With the pid
# it names one process for good; the pid alone is given to others later.
start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	# The command name may hold spaces and brackets: count from its end.
	awk '{ print $20 }' <<<"${stat##*) }"
}

# is_alive PIDFILE: does the process that the file names still run?
is_alive() {
	local pid start state
	read -r pid start 2>/dev/null <"$1" || return 1
	[[ $(start_time "$pid") == "$start" ]] || return 1
	state=$(awk '/^State:/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || return 1
	[[ $state != Z ]]
}

# wait_until SECONDS COMMAND...: polls; fails when the time is up. Less often the longer it takes: a command
# may cost more than what it waits for, as kubectl does.
wait_until() {
	local deadline=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) pause=50 seconds
	shift
	until "$@"; do
		((${EPOCHREALTIME/[.,]/} < deadline)) || return 1
		printf -v seconds '0.%03d' "$pause"
		sleep "$seconds"
		((pause = pause < 300 ? pause * 3 / 2 : pause))
	done
}

is_gone() {
	! is_alive "$1"
}

# end_process PIDFILE: asks, then insists; returns when the process is gone.
end_process() {
	local pid start
	if is_alive "$1"; then
		read -r pid start <"$1"
		kill -TERM "$pid" 2>/dev/null || true
		if ! wait_until 10 is_gone "$1"; then
			note "$(basename "$1") (pid $pid) ignored SIGTERM, killing it"
			is_alive "$1" && kill -KILL "$pid" 2>/dev/null
			wait_until 10 is_gone "$1" || die "pid $pid does not go away"
		fi
	fi
	rm -f "$1"
}

# end_cluster DIR: ends all processes, API server before etcd, and takes away
# what is of no use without them. Logs and the audit log stay.
end_cluster() {
	local i name
	for ((i = ${#programs[@]} - 1; i >= 0; i--)); do
		name=${programs[i]}
		[[ -e $1/pids/$name ]] && end_process "$1/pids/$name"
	done
	rm -rf "$1/env" "$1/kubeconfig" "$1/pids" "$1/etcd" "$1/pki" "$1/conf" "$1/options" "$1/kd"
}

# lock FILE: held by this script on descriptor 9 until it ends. What it starts
# and leaves behind must close 9.
lock() {
	exec 9>"$1"
	flock -n 9 && return
	note "waiting for another ${0##*/} to finish"
	flock 9
}
