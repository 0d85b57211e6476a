# shellcheck shell=bash
# The incident that gpuqos is for, on the demo's own cluster: GPU pods placed by a count of cards, then by how nodes are
# wired. Cards and CPUs are given out by kubelet's own managers (hack/cluster/kubelet-devices), whose report is the judge.
: "${stage?}" "${system:?}" "${red?}" "${bold?}" "${plain?}" "${certs?}"

before=gpuqos-demo-before
after=gpuqos-demo-after
pod_states='{range .items[*]}{.status.phase}/{.status.conditions[?(@.type=="PodScheduled")].status}{"\n"}{end}'
refusals='{range .items[*]}{.metadata.name}{": "}{.status.conditions[?(@.status=="False")].type}{" "}{.status.conditions[?(@.type=="PodScheduled")].message}{"\n"}{end}'

# --- nodes and loads

make_sockets() { # NAME POLICY: three nodes of two sockets with four cards each
	show hack/cluster/nodes --kubelet "$2" --called "$1" h100=3
	kubectl label node "$1-0" "$1-1" "$1-2" "gpuqos-demo/sockets=$1" >/dev/null
	kubectl wait --for=condition=Ready node -l "gpuqos-demo/sockets=$1" --timeout=30s >/dev/null ||
		failed "the nodes $1 are not ready"
}

# has_settled NAMESPACE: each pod runs, was rejected by its kubelet, or was told why it has no node.
has_settled() {
	! kubectl get pods -n "$1" -o "jsonpath=$pod_states" | grep -qv -e '^Running/' -e '^Failed/' -e '^Pending/False'
}

play_wave() { # NAMESPACE WAVE SCHEDULER PLACES
	hack/demo.d/placement.py pods "$@" | kubectl create -f - >/dev/null
	wait_until 60 has_settled "$1" || failed "the pods of $1 do not settle"
}

# play_load NAMESPACE SCHEDULER PLACES: pods that fill three nodes, half of them end, and as many cards again are asked for.
play_load() {
	play_wave "$1" early "$2" "$3"
	# shellcheck disable=SC2046 # a list of names
	kubectl delete pod -n "$1" $(hack/demo.d/placement.py ended early) >/dev/null
	play_wave "$1" late "$2" "$3"
}

take_report() {
	hack/demo.d/placement.py report "$(<"$stage/cluster/kd/address")" >"$stage/report.json" ||
		failed "the kubelets do not tell what they decided"
}

# count_verdicts NAMESPACE NODES: sets admitted, spanning, errors, others.
count_verdicts() {
	take_report
	read -r admitted spanning errors others < <(hack/demo.d/placement.py counts "$1" "$2" <"$stage/report.json")
}

show_picture() { # NAMESPACE NODES
	local options=()
	[[ ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} == *[Uu][Tt][Ff]* ]] || options+=(--ascii)
	[[ -z $red ]] || options+=(--color)
	hack/demo.d/placement.py picture "${options[@]}" "$1" "$2" <"$stage/report.json"
}

explain_picture() {
	echo "A letter is a pod, small of the first wave and capital of the second, on its cards and where its CPUs are."
	echo ". is a free card; ! marks a pod whose cards, or cards and CPUs, lie on both sockets."
}

# --- 13

# play_both: at the same time, which saves time alone.
play_both() {
	local relaxed_play
	play_load "$before-relaxed" default-scheduler relaxed &
	relaxed_play=$!
	play_load "$before-strict" default-scheduler strict
	wait "$relaxed_play" || failed "the load of policy none could not be played"
}

# play_until_rejected: which cards a kubelet takes is chance, so a load that happens to fit is played again. Sets plays.
play_until_rejected() {
	local try
	plays=1
	count_verdicts "$before-strict" strict
	for try in 1 2 3; do
		((errors == 0)) || return 0
		note "nothing was rejected, so once more (try $try)"
		kubectl delete pod -n "$before-strict" --all >/dev/null
		play_load "$before-strict" default-scheduler strict
		((plays += 1))
		count_verdicts "$before-strict" strict
	done
}

# tell_asked POLICY PLAYS: what was asked for, and what became of it.
tell_asked() {
	local asked=$(($2 * $(hack/demo.d/placement.py asked)))
	local placed=$((admitted + errors + others))
	echo "Policy $1: $asked pods were asked for, and $placed went to a node; $((asked - placed)) found none."
}

step_incident() {
	local plays
	next_step "The incident: a scheduler that counts cards" \
		"Nodes of two sockets, as in a fleet: three whose kubelets have topology policy none, three with single-numa-node." \
		"A load of Guaranteed pods with 1, 2 and 4 GPUs is placed on each three by the cluster's kube-scheduler."
	make_sockets relaxed none
	make_sockets strict single-numa-node
	kubectl create namespace "$before-relaxed" >/dev/null
	kubectl create namespace "$before-strict" >/dev/null
	play_both
	count_verdicts "$before-relaxed" relaxed
	explain_picture
	show_picture "$before-relaxed" relaxed
	tell_asked none 1
	echo "Policy none: $spanning of $admitted pods span both sockets, $((100 * spanning / admitted)) %."
	((spanning > 0)) || failed "no pod spans, so that this shows nothing"
	checked "pods run across sockets, and nobody is told"
	play_until_rejected
	show_picture "$before-strict" strict
	kubectl get pods -n "$before-strict" --field-selector status.phase=Failed \
		-o 'custom-columns=POD:.metadata.name,GPUS:.spec.containers[0].resources.limits.nvidia\.com/gpu,NODE:.spec.nodeName,REASON:.status.reason'
	tell_asked single-numa-node "$plays"
	echo "Policy single-numa-node: $spanning of $admitted pods span; $errors were placed and then died with TopologyAffinityError."
	((errors > 0)) || failed "no pod was rejected, so that this shows nothing"
	checked "kubelets reject what the scheduler placed"
}

# --- 14

# The kube-scheduler of config/scheduler, with paths and address of this machine.
start_scheduler() {
	local port
	port=$(extender_port "$(<"$stage/port-1")")
	kubectl apply -f config/scheduler/rbac.yaml >/dev/null
	write_kubeconfig gpuqos-scheduler
	sed -e "s,^clientConnection:,&\n  kubeconfig: $stage/gpuqos-scheduler.kubeconfig," -e 's/leaderElect: true/leaderElect: false/' \
		-e "s,urlPrefix: .*,urlPrefix: https://127.0.0.1:$port," -e "s,/etc/gpuqos-extender/tls,$certs/client," \
		-e "s,/etc/gpuqos-extender/ca,$certs/ca," config/scheduler/kube-scheduler.yaml >"$stage/kube-scheduler.yaml"
	launch scheduler "$(tool kube-scheduler)" --config "$stage/kube-scheduler.yaml" --secure-port=0
}

serve_extender() {
	certs=$stage/certs
	hack/extender-certs "$certs" --san IP:127.0.0.1 >/dev/null
	configure_controller
	end_replicas
	start_replica 1
	await 30 "the controller leads again, and serves the extender" writes 1
	start_scheduler
}

publish_layouts() {
	kubectl get nodes -l gpuqos-demo/sockets -o json | hack/demo.d/placement.py layouts |
		kubectl apply --server-side --field-manager=gpuqos-demo -f - >/dev/null
}

make_aligned_tenant() {
	printf '%s\n' 'apiVersion: gpuqos.io/v1alpha1' 'kind: TenantQoS' "metadata: {name: $after}" 'spec:' '  tier: Training' \
		'  namespaceSelector: {matchLabels: {gpuqos-demo/tenant: after}}' \
		'  topology: {policy: Required, scope: NUMA}' >"$stage/aligned.yaml"
	sed 's/^/  /' "$stage/aligned.yaml"
	kubectl apply -f "$stage/aligned.yaml" >/dev/null
	kubectl create namespace "$after" >/dev/null
	kubectl label namespace "$after" gpuqos-demo/tenant=after >/dev/null
	quota_manifest "$after" 100Ti | kubectl apply -f - >/dev/null
	await 30 "its quota is enforced" quota_is_ready "$after"
}

no_node_fits() {
	note_of_pod=$(kubectl get events -n "$after" --field-selector reason=NoGpuNodeFits -o 'jsonpath={.items[0].message}' 2>/dev/null)
	[[ -n $note_of_pod ]]
}

# find_waiting: sets waiting; the reasons are in $stage/waiting.
find_waiting() {
	kubectl get pods -n "$after" -o "jsonpath=$refusals" | sed -n 's/: PodScheduled /: /p' >"$stage/waiting"
	waiting=$(wc -l <"$stage/waiting")
}

# tell_reasons: of each pod that waits, in kube-scheduler's words; the first is shown.
tell_reasons() {
	((waiting > 0)) || failed "no pod waits, so that this does not show why"
	! grep -q ': $' "$stage/waiting" || failed "a pod waits and is not told why"
	echo "$waiting pods wait. kube-scheduler says of the first:"
	quote "$(head -n 1 "$stage/waiting")"
	await 30 "and the controller's Event names the reason" no_node_fits
	quote "$note_of_pod"
}

step_placement() {
	local waiting note_of_pod=
	next_step "The same load, placed by how nodes are wired" \
		"config/scheduler: a stock kube-scheduler that asks the controller. Each node's layout is published, which gpuqos-agent does" \
		"on a real one. The load may go to any of the six nodes; its tenant insists on one NUMA node for each pod."
	kubectl delete pod -n "$before-relaxed" --all --wait=false >/dev/null
	kubectl delete pod -n "$before-strict" --all --wait=false >/dev/null
	publish_layouts
	serve_extender
	make_aligned_tenant
	wait_until 30 pods_are "$before-relaxed" 0 || failed "the first load does not end"
	wait_until 30 pods_are "$before-strict" 0 || failed "the first load does not end"
	play_load "$after" gpuqos-scheduler relaxed,strict
	count_verdicts "$after" relaxed
	((admitted + errors + others == 0)) || failed "a pod went where nothing is certain"
	count_verdicts "$after" strict
	explain_picture
	show_picture "$after" strict
	find_waiting
	echo "$((admitted + errors + others + waiting)) pods were asked for, and $admitted were placed: $spanning of these span both sockets, $((errors + others)) were" \
		"rejected. The other $waiting wait rather than span. None went to a node of policy none, where nothing is certain."
	((admitted > 0 && spanning == 0 && errors + others == 0)) || failed "not 0 of both"
	checked "0 pods across sockets, 0 rejected"
	tell_reasons
}
