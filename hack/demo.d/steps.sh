# shellcheck shell=bash
# The play. Each step explains itself, runs its commands, waits for what they should bring about, and fails where
# that does not come.
: "${stage?}" "${own_cluster:?}" "${system:?}" "${chat:?}" "${research:?}" "${chat_fits:?}" "${chat_row:?}"
: "${chat_per_pod:?}" "${research_rows[0]:?}" "${touched_cluster?}" "${lease:?}" "${bold?}" "${plain?}"

quotas() {
	show kubectl get gmq -A
}

# field NAMESPACE PATH: of the namespace's quota.
field() {
	kubectl get gmq team -n "$1" -o "jsonpath={.status.$2}"
}

field_is() {
	[[ $(field "$1" "$2") == "$3" ]]
}

# --- 1

node_columns='NODE:.metadata.name,CARD:.metadata.labels.nvidia\.com/gpu\.product'
for resource in gpu gpu.shared mig-1g.10gb mig-2g.20gb mig-3g.40gb; do
	node_columns+=",${resource^^}:.status.allocatable.nvidia\.com/${resource//./\\.}"
done

step_cluster() {
	if [[ $own_cluster == no ]]; then
		next_step "The cluster that KUBECONFIG names" "What its nodes offer is found out with the first quota."
		return
	fi
	next_step "A cluster with three kinds of GPU nodes" \
		"A real control plane (API server, etcd, scheduler, controller manager) on 127.0.0.1. kwok plays the kubelets," \
		"so the nodes and their GPUs are made up; labels and resources are those that NVIDIA's components would set."
	start_cluster
	show hack/cluster/nodes h100=2 mig-mixed=1 timesliced-renamed=1
	printf "%s$ kubectl get nodes -o 'custom-columns=%s'%s\n" "$bold" "$node_columns" "$plain"
	kubectl get nodes -o "custom-columns=$node_columns"
}

# --- 2

step_install() {
	next_step "Install gpuqos" \
		"CRDs, admission policies, RBAC: config/default, with the Deployment scaled to 0, as the demo has no image of it."
	[[ $own_cluster == yes ]] || touched_cluster=yes
	show kubectl apply -k hack/demo.d
	kubectl wait --for=condition=Established crd/gpumemoryquotas.gpuqos.io --timeout=30s >/dev/null ||
		failed "the CRD is not established"
	checked "the API server knows GpuMemoryQuota"
	quotas
}

# --- 3

step_replicas() {
	next_step "Two replicas of the controller, one leads" \
		"Processes of this machine, with the token of the ServiceAccount: what its ClusterRole lacks, they lack too."
	write_kubeconfig gpuqos-controller
	start_replica 1
	await 30 "replica 1 leads; it has read the cluster and counted" writes 1
	start_replica 2
	await 30 "replica 2 is ready: its caches are complete too" is_ready 2
	await 30 "replica 2 stands by" has_page 2 /readyz "role: standby"
	show kubectl get lease gpuqos-controller -n "$system"
	quotas
}

# --- 4

quota_is_ready() {
	[[ $(field "$1" 'conditions[?(@.type=="Ready")].status') == True &&
		$(kubectl get gmq team -n "$1" -o 'jsonpath={.metadata.generation}') == $(field "$1" observedGeneration) ]]
}

find_offer() {
	quota_manifest "$chat" 1Pi | kubectl apply -f - >/dev/null
	wait_until 30 quota_is_ready "$chat" || failed "the quota does not become ready"
	use_offer
}

step_quotas() {
	next_step "Two namespaces, each with an amount of GPU memory" \
		"It counts by memory, whatever the kind: whole cards, MIG slices, shares of a card."
	kubectl create namespace "$chat" >/dev/null
	kubectl create namespace "$research" >/dev/null
	[[ $own_cluster == yes ]] || find_offer
	{ chat_quota && echo --- && research_quota; } >"$stage/quotas.yaml"
	sed 's/^/  /' "$stage/quotas.yaml"
	show kubectl apply -f "$stage/quotas.yaml"
	await 30 "the API server enforces the quota of $chat" quota_is_ready "$chat"
	await 30 "the API server enforces the quota of $research" quota_is_ready "$research"
	quotas
}

# --- 5

# The API server's own words, as the ReplicaSet's condition has them.
replica_failure() {
	kubectl get rs -n "$chat" -l app=server \
		-o 'jsonpath={.items[0].status.conditions[?(@.type=="ReplicaFailure")].message}'
}

deployment_is_stopped() {
	[[ $(kubectl get rs -n "$chat" -l app=server -o 'jsonpath={.items[0].status.replicas}') == "$chat_fits" &&
		$(replica_failure) == *forbidden* ]]
}

step_deployment() {
	next_step "A Deployment stops at the quota" \
		"It wants $((chat_fits + 2)) pods of 1 x ${chat_row%% *}, all at once; the quota has room for $chat_fits."
	deployment_manifest >"$stage/deployment.yaml"
	show kubectl apply -f "$stage/deployment.yaml"
	await 60 "$chat_fits pods exist and the next was refused" deployment_is_stopped
	show kubectl get deployment server -n "$chat"
	show kubectl describe resourcequota gpuqos -n "$chat"
	echo "The API server's message, from the ReplicaSet's condition:"
	quote "$(replica_failure)"
	await 15 "the quota's status counts them" field_is "$chat" pods "$chat_fits"
	quotas
}

# --- 6

step_mixed() {
	local i row count=${#research_rows[@]}
	next_step "Other kinds of device count by their memory" \
		"One pod of each in $research. Where the sum is no whole number of Mi, as with a tenth of a card, it is told in bytes:"
	for ((i = 0; i < count; i++)); do
		row=${research_rows[i]}
		echo "  pod-$i  1 x ${row%% *} at ${row##* }"
		{ pod_manifest "$research" "pod-$i" 1 "$row" && echo ---; } >>"$stage/pods.yaml"
	done
	show kubectl apply -f "$stage/pods.yaml"
	await 30 "the quota of $research counts $count pods" field_is "$research" pods "$count"
	quotas
	echo "The same in bytes, from /metrics of replica 1:"
	page 1 /metrics | grep '^gpuqos_quota_used_bytes'
}

# --- 7

# is_refused NAME COUNT [OPTION]...: a pod of the chat tenant; leaves what the API server said in $answer.
is_refused() {
	local name=$1 count=$2
	shift 2
	pod_manifest "$chat" "$name" "$count" "$chat_row" >"$stage/$name.yaml"
	! answer=$(kubectl create -f "$stage/$name.yaml" "$@" 2>&1)
}

try_pod() {
	is_refused "$@" || failed "admitted: $answer"
	printf '%s$ kubectl create -f %s%s\n' "$bold" "$stage/$1.yaml" "$plain"
	quote "${answer/error when creating \"*.yaml\": /}"
}

is_refused_for_size() {
	is_refused too-big 3 --dry-run=server && [[ $answer == *"one pod may have"* ]]
}

step_too_big() {
	next_step "A pod that is too big for perPod" \
		"It asks for 3 x ${chat_row%% *}, and no pod of $chat may have more than $chat_per_pod. The admission policy" \
		"says so; the API server evaluates it, no webhook is asked."
	# Policies act a moment after they are stored.
	wait_until 60 is_refused_for_size || failed "not refused for its size: $answer"
	try_pod too-big 3
	checked "refused for its size, with both numbers"
	quotas
}

# --- 8

another_leads() {
	[[ $(holder) == "$1" ]] && writes "$2"
}

kill_leader() { # N
	local pid
	read -r pid _ <"$stage/replica-$1"
	show kill -KILL "$pid"
	wait_until 10 is_gone "$stage/replica-$1" || failed "replica $1 does not end"
}

step_failover() {
	local leader=1 other=2 begun dead tenths
	next_step "The leader is killed" \
		"SIGKILL: it cannot give its Lease back, so the other replica takes over once the Lease has run out, $lease s" \
		"after its last renewal (15 s where nothing else is set). Until then nobody leads, and the quota holds all the same."
	[[ $(holder) == "$(identity_of 1)" ]] || { leader=2 other=1; }
	dead=$(identity_of "$leader") begun=${EPOCHREALTIME/[.,]/}
	kill_leader "$leader"
	try_pod one-more 1
	[[ $(holder) == "$dead" ]] || failed "somebody leads already, so that this shows nothing"
	checked "refused while nobody leads"
	await 30 "replica $other leads" another_leads "$(identity_of "$other")" "$other"
	tenths=$(((${EPOCHREALTIME/[.,]/} - begun) / 100000))
	echo "Nobody led for $((tenths / 10)).$((tenths % 10)) s."
	show kubectl scale deployment server -n "$chat" --replicas=2
	await 30 "the new leader keeps the status: pods of $chat fall to 2" field_is "$chat" pods 2
	quotas
}
