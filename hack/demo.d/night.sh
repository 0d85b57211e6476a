# shellcheck shell=bash
# The night of the incident, on the demo's own cluster: a promise about latency that a training job breaks, and a tenant that uses more
# than it was granted. Prometheus is a real one. There is no card here: latency is what tests/lib/inference.py's model makes of a
# recorded load and of who shares wires, and night.py tells what pods' processes use, as gpuqos-agent would.
: "${stage?}" "${system:?}" "${red?}" "${image:?}"

web=gpuqos-demo-web
train=gpuqos-demo-train
noisy=gpuqos-demo-noisy
night='night-0'
shared_node=timesliced-renamed-0
speed=8   # of the trace
# The ladder of throttling.
pace='{graceSeconds: 6, alertSeconds: 4, stepSeconds: 12, recoverSeconds: 5}'
share=8155Mi
first_token="histogram_quantile(0.95, sum by (namespace, pod, le) (rate(vllm:time_to_first_token_seconds_bucket{namespace=\"$web\"}[8s])))"
night_svg=${DEMO_SVG:-build/demo-night.svg}

# --- Prometheus, and what it scrapes

prometheus_answers() {
	is_gone "$stage/prometheus" || prometheus_get -/ready >/dev/null
}

prometheus_get() { # PATH
	python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())' \
		"$prometheus_url/$1" 2>/dev/null
}

start_prometheus() {
	local try port
	printf '%s\n' 'global: {scrape_interval: 1s, scrape_timeout: 1s}' 'scrape_configs:' '  - job_name: demo' '    honor_labels: true' \
		"    file_sd_configs: [{files: [$stage/targets.json], refresh_interval: 1s}]" >"$stage/prometheus.yml"
	echo '[]' >"$stage/targets.json"
	for try in {1..10}; do
		port=$((20001 + RANDOM % 6000 * 2))
		prometheus_url=http://127.0.0.1:$port
		launch prometheus prometheus --config.file="$stage/prometheus.yml" --storage.tsdb.path="$stage/prometheus.data" \
			--web.listen-address="127.0.0.1:$port" --log.level=warn
		wait_until 30 prometheus_answers || failed "Prometheus does not answer"
		! is_alive "$stage/prometheus" || return 0
		note "port $port was taken (try $try)"
	done
	failed "no free port for Prometheus"
}

# configure_controller: for what comes after the incident's placement; the replica that is started next reads it.
configure_controller() {
	start_prometheus
	config=$stage/controller.yaml
	printf '%s\n' 'apiVersion: config.gpuqos.io/v1alpha1' 'kind: ControllerConfig' \
		"prometheus: {url: \"$prometheus_url\", intervalSeconds: 1, timeoutSeconds: 2}" "feedback: $pace" >"$config"
}

start_exporter() {
	launch inference env "KUBECONFIG=$KUBECONFIG" "PATH=$(dirname "$KUBECTL"):$PATH" python3 tests/lib/inference.py \
		--port-file "$stage/inference.port" --speed "$speed"
	wait_until 30 test -s "$stage/inference.port" || failed "the exporter does not start"
	printf '[{"targets": ["127.0.0.1:%s", "127.0.0.1:%s"]}]\n' "$(<"$stage/inference.port")" "$(<"$stage/port-1")" >"$stage/targets.new"
	mv "$stage/targets.new" "$stage/targets.json"
}

end_night() {
	local name
	for name in agent inference prometheus; do
		[[ ! -e $stage/$name ]] || end_process "$stage/$name"
	done
}

# --- the scene

make_night_node() {
	show hack/cluster/nodes --kubelet none --called "${night%-0}" h100=1
	kubectl label node "$night" gpuqos-demo/night=yes >/dev/null
	kubectl wait --for=condition=Ready "node/$night" --timeout=30s >/dev/null || failed "the node $night is not ready"
	hack/demo.d/night.py wires "$night" | kubectl apply --server-side --field-manager=gpuqos-demo -f - >/dev/null
	hack/demo.d/night.py leases "$night" "$shared_node" | kubectl apply -f - >/dev/null
	launch agent env "KUBECONFIG=$KUBECONFIG" "KUBECTL=$KUBECTL" hack/demo.d/night.py agent "$night" "$shared_node"
}

tenant_head() { # NAMESPACE TIER [LINE]...
	local namespace=$1 tier=$2
	shift 2
	printf '%s\n' 'apiVersion: gpuqos.io/v1alpha1' 'kind: TenantQoS' "metadata: {name: $namespace}" 'spec:' "  tier: $tier" \
		"  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $namespace}}"
	printf '  %s\n' "$@"
}

night_tenants() {
	tenant_head "$web" Inference "objectives:" "  - name: first-token" "    query: '$first_token'" "    threshold: '0.4'" "    for: 5s" \
		'protection: {mode: Enforce, minVictimRunSeconds: 0, observationSeconds: 16}'
	echo ---
	tenant_head "$train" Training 'preemptible: {minRunSeconds: 0}'
	echo ---
	tenant_head "$noisy" Training 'isolation: {memoryOvershootPercent: 10, gpuUtilizationPercent: 60}' \
		'feedback: {mode: Throttle, decrease: 30, floorPercent: 50, recoverPerMinute: 25}'
}

night_quota() { # NAMESPACE
	case $1 in
	"$web") cards 1 ;;
	"$train") cards 7 ;;
	*) echo 80Gi ;;
	esac
}

make_night_tenants() {
	local namespace
	night_tenants >"$stage/night.yaml"
	sed 's/^/  /' "$stage/night.yaml"
	for namespace in "$web" "$train" "$noisy"; do
		printf '%s\n' --- 'apiVersion: v1' 'kind: Namespace' "metadata: {name: $namespace}" ---
		quota_manifest "$namespace" "$(night_quota "$namespace")"
	done >>"$stage/night.yaml"
	kubectl apply -f "$stage/night.yaml" >/dev/null
	for namespace in "$web" "$train" "$noisy"; do
		wait_until 30 quota_is_ready "$namespace" || failed "the quota of $namespace is not enforced"
	done
}

# night_pod NAMESPACE NAME LOAD USE: one card of the night's node.
night_pod() {
	printf '%s\n' 'apiVersion: v1' 'kind: Pod' 'metadata:' "  name: $2" "  namespace: $1" "  labels: {gpuqos-test/load: $3}" \
		"  annotations: {gpuqos-demo/use: '$4'}" 'spec:' '  schedulerName: gpuqos-scheduler' \
		'  nodeSelector: {gpuqos-demo/night: "yes", nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}' \
		'  terminationGracePeriodSeconds: 1' \
		"  containers: [{name: main, image: $image, resources: {limits: {nvidia.com/gpu: 1}}}]"
}

# noisy_pod NAME: a share of a card that others use too.
noisy_pod() {
	pod_manifest "$noisy" "$1" 1 "nvidia.com/gpu.shared - -"
}

run_pods() { # NAMESPACE: what it reads is made, and runs
	kubectl create -f - >/dev/null
	kubectl wait --for=jsonpath='{.status.phase}'=Running pod --all -n "$1" --timeout=60s >/dev/null || failed "the pods of $1 do not run"
}

# fill_nodes: with what is there before the training job.
fill_nodes() {
	local i
	for i in {1..7}; do
		night_pod "$train" "notebook-$i" none 'sm=3 memory=1Gi' && echo ---
	done | run_pods "$train"
	for i in {1..5}; do
		noisy_pod "noisy-$i" && echo ---
	done | run_pods "$noisy"
}

# --- what is seen

objective() { # FIELD
	kubectl get tqos "$web" -o "jsonpath={.status.objectives[0].$1}"
}

objective_is() { # STATE...
	local state
	state=$(objective state)
	[[ " $* " == *" $state "* ]]
}

objective_is_known() {
	[[ -n $(objective value) ]]
}

receipt_is() { # OUTCOME...
	local outcome
	outcome=$(kubectl get tqos "$web" -o 'jsonpath={.status.evictions[-1:].outcome}')
	[[ -n $outcome && " $* " == *" $outcome "* ]]
}

pod_is_gone() { # NAMESPACE NAME
	[[ -z $(kubectl get pod "$2" -n "$1" --ignore-not-found -o name) ]]
}

first_token_now() {
	echo "Time to first token, 95th percentile: $(objective value) s; the objective is $(objective state)."
}

# has_seen QUERY: Prometheus has an answer.
has_seen() {
	[[ $(prometheus_get "api/v1/query?query=$1") == *'"value"'* ]]
}

# was_left PERCENT: as Prometheus saw it, now or before.
was_left() {
	has_seen "count_over_time((gpuqos_tenant_throttle_percent%7Btenant=%22$noisy%22%7D==$1)%5B5m:1s%5D)"
}

all_is_allowed() {
	has_seen "gpuqos_quota_effective_bytes%7Bnamespace=%22$noisy%22%7D==gpuqos_quota_limit_bytes"
}

throttle_is() { # STEP PERCENT
	[[ $(kubectl get tqos "$noisy" -o 'jsonpath={.status.throttle.step} {.status.throttle.percent}') == "$1 $2" ]]
}

throttle_says() {
	kubectl get tqos "$noisy" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].message}"
}

# --- 15

land_beside() {
	local neighbour
	neighbour=$(hack/demo.d/night.py beside "$web" web-0)
	[[ -n $neighbour ]] || failed "web-0 has no neighbour"
	echo "$neighbour is on the card beside web-0's, below the same PCIe switch. It ends, and a training job takes its place."
	show kubectl delete pod "$neighbour" -n "$train"
	night_pod "$train" job-0 training 'sm=90 memory=70Gi' | run_pods "$train"
	make_noise
}

step_night() {
	next_step "The night of the incident: latency is bad, and one pod is to blame" \
		"An inference server has one card of a node, seven pods of a lower tier the others. Its load is Azure's trace of 2023; how long" \
		"it takes follows a model of who shares a card, a PCIe switch or a NUMA node (tests/lib/inference.py). A real Prometheus" \
		"scrapes it. Time is compressed: the trace runs $speed times as fast, and what takes minutes takes seconds (for, observation)."
	make_night_node
	make_night_tenants
	night_pod "$web" web-0 inference 'sm=60 memory=60Gi' | run_pods "$web"
	start_exporter
	fill_nodes
	wait_until 60 objective_is_known || failed "the objective stays unknown"
	night_begun=${EPOCHREALTIME%[.,]*}
	await 60 "the objective is Met: web-0 keeps its promise" objective_is Met
	first_token_now
	land_beside
	await 60 "the objective is AtRisk or Violated" objective_is AtRisk Violated
	first_token_now
	await 60 "an eviction was issued" receipt_is Issued Helped
	await 30 "job-0 is gone" pod_is_gone "$train" job-0
	await 90 "the outcome is Helped" receipt_is Helped
	kubectl get tqos "$web" -o json >"$stage/web.json"
	echo "The receipt, from kubectl get tqos $web -o yaml:"
	hack/demo.d/night.py receipt <"$stage/web.json"
	[[ $(kubectl get tqos "$web" -o 'jsonpath={.status.evictionCount}') == 1 ]] || failed "not one eviction"
	[[ $(kubectl get pods -n "$train" --no-headers | wc -l) == 6 ]] || failed "others went, too"
	checked "one pod was evicted, and the six notebooks go on"
	await 60 "the objective is Met again" objective_is Met
	first_token_now
}

# --- 16

use_of_noisy() { # USE
	kubectl annotate pod -n "$noisy" --all --overwrite "gpuqos-demo/use=$1" >/dev/null
}

# make_noise: meanwhile, since it takes a while to count as abnormal.
make_noise() {
	use_of_noisy 'sm=90 memory=16Gi'
}

one_more_is_refused() {
	! answer=$(noisy_pod one-more | kubectl create --dry-run=server -f - 2>&1) && [[ $answer == *forbidden* ]]
}

one_more_is_let_in() {
	noisy_pod one-more | kubectl create --dry-run=server -f - >/dev/null 2>&1
}

draw_night() {
	local options=() now
	wait_until 30 all_is_allowed || failed "Prometheus does not see the end"
	now=${EPOCHREALTIME%[.,]*}
	[[ ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} == *[Uu][Tt][Ff]* ]] || options+=(--ascii)
	[[ -z $red ]] || options+=(--color)
	hack/demo.d/graph.py "${options[@]}" "$prometheus_url" "$night_begun" "$((now + 1))" "$night_svg"
	echo "Latency is that of the last 8 s (its query says so), so it falls some seconds after the eviction."
	echo "The same as a picture: $night_svg"
}

step_noise() {
	next_step "A tenant that uses more than it was granted" \
		"Meanwhile, on a node whose cards are shared: five pods of $noisy were granted ${share} each, and use 16Gi, and 90 % of a card" \
		"where 60 are agreed on. These are two signals that do not follow from each other. What takes minutes takes seconds:" \
		"feedback: $pace in --config."
	await 60 "its use is abnormal, and new pods are held back: 70 % are left" was_left 70
	quote "$(throttle_says Abnormal)"
	await 60 "it goes on, and so does the ladder: 50 % are left, its floor" throttle_is NoNewGrants 50
	await 30 "one more pod is refused" one_more_is_refused
	quote "$answer"
	pods_are "$noisy" 5 || failed "a throttle took what runs"
	show kubectl get tqos "$noisy"
	echo "Its owner sees to it: the pods use what they were granted."
	use_of_noisy 'sm=5 memory=7Gi'
	await 60 "use is normal, and it is released: 75 % are left" was_left 75
	await 60 "and it has everything again" throttle_is None 100
	await 30 "one more pod is let in" one_more_is_let_in
	draw_night
}
