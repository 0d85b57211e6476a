# shellcheck shell=bash
# What the play needs: programs, a cluster, the controller's two replicas; and how all of it goes away again.
: "${chat:?}" "${research:?}" "${image:?}" "${programs[0]:?}"

system=gpuqos-system
stage=           # folder for what the demo keeps, once there is one
own_cluster=yes  # or no: the one that KUBECONFIG names
touched_cluster= # once something was applied to a cluster that is not ours
certs=           # folder of the extender's certificates, once it is to be served
config=          # the controller's configuration, once there is one
lease=8          # seconds; longer than what a request takes on a busy machine
played=          # yes once all steps have shown what they should

kubectl() {
	command "$KUBECTL" "$@"
}

# --- which cluster

choose_cluster() {
	[[ -n ${KUBECONFIG:-} ]] || return 0
	own_cluster=no
	KUBECTL=${KUBECTL:-$(command -v kubectl)} || die "KUBECONFIG is set, and no kubectl is on PATH"
	export KUBECONFIG
	kubectl version >/dev/null 2>&1 || die "the cluster of KUBECONFIG does not answer; unset it to use one of the demo's own"
	refuse_installed
	ask_for_cluster
}

refuse_installed() {
	local found
	found=$(kubectl get --ignore-not-found -o name -k hack/demo.d &&
		kubectl get --ignore-not-found -o name "namespace/$chat" "namespace/$research") || die "the cluster cannot be read"
	[[ -z $found ]] || die "the cluster has what the demo would remove at its end, $(wc -l <<<"$found") objects: $(head -n 4 <<<"$found" |
		paste -s -d ' ') ..."
}

# applied INDENT: how many of which kinds config/default has, as it is now.
applied() {
	kubectl kustomize hack/demo.d | awk '/^kind:/ { print $2 }' | sort | uniq -c | awk -v indent="$1" '
		{ word = $1 " " $2; used += length(word) + 2 }
		used > 90 { printf ",\n%s%s", indent, word; used = length(word); next }
		{ printf "%s%s", (NR > 1 ? ", " : ""), word }'
}

ask_for_cluster() {
	local answer=
	cat <<END
KUBECONFIG is set: the demo would use the cluster of context "$(kubectl config current-context)".

It needs      cluster-admin, Kubernetes 1.33 or newer, and nodes that offer GPUs with labels that tell their memory.
It makes      what \`kubectl kustomize config/default\` prints, all of it named gpuqos-... or of gpuqos.io:
              $(applied '              ');
              namespaces $chat and $research, and in them a few pods that ask for GPUs and
              do nothing ($image). No nodes.
It removes    all of that at its end, unless KEEP=1.
It plays      steps 1 to 8. The rest needs nodes and amounts that are known: unset KUBECONFIG to see it.

END
	[[ ${DEMO_YES:-} != 1 ]] || return 0
	[[ -t 0 ]] || die "not on a terminal: set DEMO_YES=1 to go on, or unset KUBECONFIG to use a cluster of its own"
	read -r -p 'Go on? [y/N] ' answer
	[[ $answer == [yY]* ]] || die "nothing was done"
}

# --- programs

cluster_is_built() {
	local name
	for name in "${programs[@]}" kubectl; do
		tool "$name" >/dev/null || return 1
	done
}

build_all() {
	local groups=(build)
	if [[ $own_cluster == yes ]] && ! { cluster_is_built && command -v openssl >/dev/null && command -v prometheus >/dev/null; }; then
		groups+=(cluster)
	fi
	heading "Building what is missing"
	hack/deps "${groups[@]}" || die "install what is missing, then try again"
	make --no-print-directory || die "the build failed"
	[[ $own_cluster == no ]] || hack/cluster/build
	echo "build/bin/gpuqos-controller, and the programs of a Kubernetes control plane: all there"
}

start_cluster() {
	hack/cluster/up "$stage/cluster" --with kubelet-devices 2>"$stage/up.log" || { cat "$stage/up.log" >&2 && failed "no cluster"; }
	set -a
	# shellcheck source=/dev/null
	. "$stage/cluster/env"
	set +a
}

# --- the controller

# write_kubeconfig ACCOUNT: holds the ServiceAccount's token and none of the admin's credentials.
write_kubeconfig() {
	local user file=$stage/$1.kubeconfig
	umask 077
	kubectl create token "$1" -n "$system" --duration=1h >"$stage/$1.token"
	kubectl config view --raw --minify --flatten >"$file"
	user=$(kubectl --kubeconfig "$file" config view -o 'jsonpath={.users[0].name}')
	{
		kubectl --kubeconfig "$file" config delete-user "$user"
		kubectl --kubeconfig "$file" config set "users.$1.tokenFile" "$stage/$1.token"
		kubectl --kubeconfig "$file" config set-context --current --user="$1" --namespace="$system"
	} >/dev/null
}

# launch NAME COMMAND...: a session of its own, so that Ctrl-C reaches the demo alone.
launch() {
	local name=$1
	shift
	(
		pid=$BASHPID
		echo "$pid $(start_time "$pid")" >"$stage/$name.new"
		mv "$stage/$name.new" "$stage/$name"
		exec env -u KUBECONFIG setsid "$@" </dev/null >"$stage/$name.log" 2>&1
	) &
	disown # bash would tell at length that it was killed
	wait_until 5 test -s "$stage/$name" || failed "$name could not be started"
}

# launch_replica N PORT
launch_replica() {
	local flags=(--kubeconfig "$stage/gpuqos-controller.kubeconfig" --leader-elect "--leader-elect-lease-duration=${lease}s"
		--leader-elect-renew-deadline=6s --leader-elect-retry-period=1s "--metrics-bind-address=127.0.0.1:$2"
		"--health-probe-bind-address=127.0.0.1:$(($2 + 1))")
	if [[ -n $certs ]]; then
		flags+=("--extender-address=127.0.0.1:$(extender_port "$2")" "--extender-tls-cert-file=$certs/server.crt"
			"--extender-tls-private-key-file=$certs/server.key" "--extender-client-ca-file=$certs/ca.crt")
	fi
	[[ -z $config ]] || flags+=("--config=$config")
	launch "replica-$1" build/bin/gpuqos-controller "${flags[@]}"
}

# extender_port PORT: below those of the other servers.
extender_port() {
	echo $(($1 / 2 + 4000))
}

# start_replica N: on two ports below those that the kernel gives away; if they are taken, on others.
start_replica() {
	local try port
	for try in {1..10}; do
		port=$((20000 + RANDOM % 6000 * 2))
		launch_replica "$1" "$port"
		echo "$port" >"$stage/port-$1"
		wait_until 30 answers_or_ended "$1" || failed "replica $1 does not answer"
		! is_alive "$stage/replica-$1" || return 0
		grep -qi 'in use' "$stage/replica-$1.log" || failed "replica $1 has ended"
		note "port $port was taken (try $try)"
	done
	failed "no free port for replica $1"
}

answers_or_ended() {
	page "$1" /healthz >/dev/null || is_gone "$stage/replica-$1"
}

# page N PATH: a page of a replica's servers, and whether its status is 200. Of bash alone: curl may be missing.
page() {
	local port status
	port=$(<"$stage/port-$1")
	[[ $2 == /metrics ]] || ((port += 1))
	{ exec 8<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return 1
	printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&8
	read -r _ status _ <&8 || true
	sed '1,/^\r$/d' <&8
	exec 8<&-
	[[ $status == 200 ]]
}

# has_page N PATH TEXT; a replica that has ended never will.
has_page() {
	is_alive "$stage/replica-$1" || failed "replica $1 has ended"
	page "$1" "$2" | grep -qF -- "$3"
}

is_ready() {
	page "$1" /readyz >/dev/null
}

writes() {
	is_alive "$stage/replica-$1" || failed "replica $1 has ended"
	grep -qF "writing begins" "$stage/replica-$1.log"
}

identity_of() {
	sed -n 's/.* info *gpuqos-controller .*identity=\([^ ]*\).*/\1/p' "$stage/replica-$1.log" | head -n 1
}

holder() {
	kubectl get lease gpuqos-controller -n "$system" -o 'jsonpath={.spec.holderIdentity}'
}

# --- the end

explain_failure() {
	local log
	[[ -z ${KUBECONFIG:-} ]] || kubectl get gmq -A -o yaml 2>/dev/null | tail -n 60 || true
	for log in "$stage"/replica-*.log "$stage"/scheduler.log; do
		[[ ! -e $log ]] || { heading "the end of $(basename "$log")" && tail -n 10 "$log"; }
	done
}

tell_how_to_look_around() {
	heading "KEEP=1: all of it is still up. To look around:"
	if [[ $own_cluster == yes ]]; then
		echo "  set -a; . $stage/cluster/env; set +a; alias kubectl=\$KUBECTL"
	fi
	cat <<END
  kubectl get gmq -A
  kubectl describe gmq team -n $chat
  kubectl get resourcequota gpuqos -n $chat -o yaml
  kubectl events -n $chat
  tail -f $stage/replica-*.log
To end it:
END
	if [[ $own_cluster == yes ]]; then
		echo "  kill$(replica_pids); hack/cluster/down $stage/cluster; rm -rf $stage"
	else
		printf '  %s\n' "kubectl delete gmq --all -n $chat; kubectl delete gmq --all -n $research" \
			"kubectl delete namespace $chat $research" "kill$(replica_pids)" \
			"kubectl delete -k config/admission; kubectl delete -k hack/demo.d --ignore-not-found" "rm -rf $stage"
	fi
}

replica_pids() {
	local file
	for file in "$stage"/replica-[12] "$stage"/{scheduler,agent,inference,prometheus}; do
		! is_alive "$file" || printf ' %s' "$(cut -d' ' -f1 "$file")"
	done
}

end_replicas() {
	local file
	for file in "$stage"/replica-[12]; do
		[[ ! -e $file ]] || end_process "$file"
	done
}

nothing_is_managed() {
	[[ -z $(kubectl get namespace -l gpuqos.io/managed -o name) ]]
}

# In this order: quotas while the controller lives, which takes its label off the namespaces; then the policies,
# which must not outlive the CRD; then the rest.
uninstall() {
	kubectl delete gmq --all -n "$chat"
	kubectl delete gmq --all -n "$research"
	wait_until 20 nothing_is_managed || note "the label gpuqos.io/managed is still on a namespace"
	kubectl delete namespace "$chat" "$research" --ignore-not-found
	end_replicas
	kubectl delete -k config/admission --ignore-not-found
	kubectl delete -k hack/demo.d --ignore-not-found
}

clean_up() {
	if [[ -n $touched_cluster ]]; then
		heading "Cleaning up: quotas, namespaces, policies, the rest"
		uninstall >"$stage/uninstall.log" 2>&1 ||
			{ cat "$stage/uninstall.log" && echo "not all of it could be removed"; }
	fi
	end_replicas
	end_night
	[[ ! -e $stage/scheduler ]] || end_process "$stage/scheduler"
	[[ ! -d $stage/cluster ]] || hack/cluster/down "$stage/cluster"
	rm -rf "$stage"
}

leave() {
	local status=$?
	trap '' INT TERM HUP PIPE
	trap - EXIT
	set +e
	[[ -n $played ]] || { ((status)) || status=1; }
	[[ -n $stage ]] || exit "$status"
	((status == 0 || status > 128)) || explain_failure
	if [[ ${KEEP:-} == 1 ]] && ((status <= 128)); then
		tell_how_to_look_around
	else
		clean_up
	fi
	exit "$status"
}
