# shellcheck shell=bash
# The second half of the play, on the demo's own cluster: several namespaces under one ceiling, loans, cuts, and
# one number over every way of sharing. Amounts are cards of 81559Mi.
: "${stage?}" "${image:?}"

lab=gpuqos-demo-lab
field_rows='{range .status.resources[?(@.used>0)]}{.used} x {.name} at {.unitMemory}{"\n"}{end}'

cards() {
	echo "$((81559 * $1))Mi"
}

condition_of() { # NAMESPACE TYPE FIELD
	field "$1" "conditions[?(@.type==\"$2\")].$3"
}

condition_is() {
	[[ $(condition_of "$1" "$2" reason) == "$3" ]]
}

pods_are() {
	[[ $(kubectl get pods -n "$1" --no-headers 2>/dev/null | wc -l) == "$2" ]]
}

tenant_manifest() { # CARDS
	printf '%s\n' 'apiVersion: gpuqos.io/v1alpha1' 'kind: TenantQoS' "metadata: {name: $lab}" 'spec:' \
		'  tier: Training' "  namespaceSelector: {matchLabels: {gpuqos-demo/tenant: lab}}" \
		"  ceiling: {gpuMemory: $(cards "$1")}"
}

# make_pods NAMESPACE NAME N: N pods of one card each, that ask for an H100.
make_pods() {
	local i
	for ((i = 0; i < $3; i++)); do
		pod_manifest "$1" "$2-$i" 1 "nvidia.com/gpu NVIDIA-H100-80GB-HBM3 -"
		echo ---
	done | kubectl create -f - >/dev/null
}

show_tenant() {
	show kubectl get gmq -n "$lab-train" -o wide
	show kubectl get gmq -n "$lab-serve" -o wide
	show kubectl get tqos
}

# --- 9

step_ceiling() {
	next_step "A tenant: two namespaces under a ceiling of 6 cards" \
		"Both ask for 4 cards of 81559Mi, which is 2 too many. The quota that was made first gets its 4; the other is told how much is" \
		"missing, and then asks for 2."
	tenant_manifest 6 | sed 's/^/  /'
	tenant_manifest 6 | kubectl apply -f - >/dev/null
	for namespace in "$lab-train" "$lab-serve"; do
		kubectl create namespace "$namespace" >/dev/null
		kubectl label namespace "$namespace" gpuqos-demo/tenant=lab >/dev/null
	done
	quota_manifest "$lab-train" "$(cards 4)" | kubectl apply -f - >/dev/null
	await 30 "4 cards are granted to $lab-train" field_is "$lab-train" granted "$(cards 4)"
	quota_manifest "$lab-serve" "$(cards 4)" | kubectl apply -f - >/dev/null
	await 30 "$lab-serve is refused: CeilingExceeded" condition_is "$lab-serve" Accepted CeilingExceeded
	quote "$(condition_of "$lab-serve" Accepted message)"
	quota_manifest "$lab-serve" "$(cards 2)" "borrowLimit: $(cards 2)" 'onShrink: Evict' | kubectl apply -f - >/dev/null
	await 30 "2 cards fit, and are enforced" quota_is_ready "$lab-serve"
	show_tenant
}

# --- 10

step_lending() {
	next_step "Unused memory is lent, and called back" \
		"$lab-serve has pods on both of its cards, and borrows 2 more that $lab-train does not use. Then $lab-train" \
		"makes pods of its own and gets them back. $lab-serve says onShrink: Evict, so pods of it are evicted for that."
	make_pods "$lab-serve" serve 2
	await 30 "2 cards are borrowed" field_is "$lab-serve" borrowed "$(cards 2)"
	await 30 "and enforced" quota_is_ready "$lab-serve"
	wait_until 30 make_pods "$lab-serve" more 2 || failed "what is borrowed cannot be used"
	await 30 "4 pods run on 2 cards of its own and 2 borrowed ones" field_is "$lab-serve" used "$(cards 4)"
	show_tenant
	make_pods "$lab-train" train 2
	await 60 "$lab-train has its own back" field_is "$lab-train" lent 0
	await 30 "$lab-serve holds what is its own" field_is "$lab-serve" used "$(cards 2)"
	echo "The youngest went first (of one second the first by name), one at a time, each with a receipt:"
	kubectl get events -n "$lab-serve" --field-selector reason=Evicted,involvedObject.kind=Pod --sort-by=.eventTime \
		-o 'custom-columns=WHEN:.eventTime,WHAT:.message'
	show_tenant
}

# --- 11

step_cuts() {
	local policy namespace
	next_step "A cut, with each onShrink" \
		"Three namespaces hold 2 cards each and differ in onShrink. The quota of each is cut to 1 card."
	for policy in Freeze Drain Evict; do
		namespace=gpuqos-demo-${policy,,}
		kubectl create namespace "$namespace" >/dev/null
		quota_manifest "$namespace" "$(cards 2)" "onShrink: $policy" 'shrinkDeadlineSeconds: 5' | kubectl apply -f - >/dev/null
	done
	for policy in Freeze Drain Evict; do
		namespace=gpuqos-demo-${policy,,}
		await 30 "$namespace is enforced" quota_is_ready "$namespace"
		wait_until 30 make_pods "$namespace" pod 2 || failed "2 pods are not admitted"
	done
	for policy in Freeze Drain Evict; do
		namespace=gpuqos-demo-${policy,,}
		await 30 "it holds 2 cards" field_is "$namespace" used "$(cards 2)"
		kubectl patch gmq team -n "$namespace" --type merge -p "{\"spec\":{\"gpuMemory\":\"$(cards 1)\"}}" >/dev/null
	done
	await 30 "Freeze: both pods go on, nothing new" condition_is gpuqos-demo-freeze Exceeded Shrunk
	await 30 "Evict: the youngest is gone at once" pods_are gpuqos-demo-evict 1
	await 60 "Drain: the youngest is gone at the deadline" pods_are gpuqos-demo-drain 1
	pods_are gpuqos-demo-freeze 2 || failed "Freeze evicted"
	echo "Condition Exceeded of gpuqos-demo-freeze:"
	quote "$(condition_of gpuqos-demo-freeze Exceeded message)"
	quotas
}

# --- 12

bind() { # NAMESPACE POD NODE: as another scheduler does
	kubectl create --raw "/api/v1/namespaces/$1/pods/$2/binding" -f - >/dev/null <<<"{\"apiVersion\": \"v1\",
		\"kind\": \"Binding\", \"metadata\": {\"name\": \"$2\"}, \"target\": {\"kind\": \"Node\", \"name\": \"$3\"}}"
}

step_one_number() {
	local namespace=gpuqos-demo-mixed by_hand=$((81559 + 9984 + 3000 + 81559))Mi
	next_step "One number over whole cards, MIG, HAMi and a DRA claim" \
		"A whole card of 81559Mi, a MIG slice of 9984Mi, 3000Mi of a card by HAMi, and a card of 81559Mi by a DRA claim: $by_hand" \
		"by hand. HAMi's node offers nvidia.com/gpu, too, and a pod may take as little as 1Mi of one. So from here on ResourceQuotas" \
		"let in almost any number of nvidia.com/gpu; the admission policy goes by their memory, and refuses what is too much."
	kubectl apply -f hack/demo.d/one-number.yaml >/dev/null
	kubectl create namespace "$namespace" >/dev/null
	quota_manifest "$namespace" 1Ti | kubectl apply -f - >/dev/null
	await 30 "its quota is enforced" quota_is_ready "$namespace"
	wait_until 30 kubectl apply -n "$namespace" -f hack/demo.d/one-number-pods.yaml >/dev/null ||
		failed "not all are admitted: $(kubectl apply -n "$namespace" -f hack/demo.d/one-number-pods.yaml 2>&1)"
	bind "$namespace" hami-part hami-0
	await 60 "kubectl says the same: $by_hand" field_is "$namespace" live "$by_hand"
	field_is "$namespace" used "$by_hand" || failed "used is $(field "$namespace" used)"
	show kubectl get gmq -n "$namespace"
	kubectl get gmq team -n "$namespace" -o "jsonpath=$field_rows" | sed 's/^/  /'
}
