# shellcheck shell=bash
# What the demo applies, and of which devices it is made. On its own cluster those are known; on another one
# use_offer takes them from the first quota's status.

chat=gpuqos-demo-chat
research=gpuqos-demo-research
image=registry.k8s.io/pause:3.10

# Rows are `resource product unitMemory`; product is - where any will do.
chat_row="nvidia.com/gpu - 81559Mi"
research_rows=("nvidia.com/mig-1g.10gb - 9984Mi" "nvidia.com/mig-3g.40gb - 40448Mi" "nvidia.com/gpu.shared - 8155Mi")
chat_memory=320Gi
chat_per_pod=160Gi
research_memory=96Gi
# How many devices chat_memory buys; the Deployment wants two more.
chat_fits=4

# quota_manifest NAMESPACE MEMORY [LINE]...: lines are added to its spec.
quota_manifest() {
	local namespace=$1 memory=$2
	shift 2
	printf '%s\n' 'apiVersion: gpuqos.io/v1alpha1' 'kind: GpuMemoryQuota' \
		"metadata: {name: team, namespace: $namespace}" 'spec:' "  gpuMemory: $memory"
	(($# == 0)) || printf '  %s\n' "$@"
}

chat_quota() {
	quota_manifest "$chat" "$chat_memory" "perPod: {gpuMemory: $chat_per_pod}" "${chat_caps[@]}"
}
chat_caps=()

research_quota() {
	quota_manifest "$research" "$research_memory"
}

# pod_spec INDENT RESOURCE PRODUCT COUNT
pod_spec() {
	local resource=$2 product=$3 count=$4 key=nvidia.com/gpu.product lines=()
	[[ $resource != amd.com/* ]] || key=amd.com/gpu.product-name
	[[ $product == - ]] || lines+=("nodeSelector: {$key: $product}")
	lines+=('terminationGracePeriodSeconds: 1' 'containers:'
		"- {name: main, image: $image, resources: {limits: {$resource: $count}}}")
	printf "$1%s\n" "${lines[@]}"
}

# pod_manifest NAMESPACE NAME COUNT ROW
pod_manifest() {
	local resource product
	read -r resource product _ <<<"$4"
	printf '%s\n' 'apiVersion: v1' 'kind: Pod' "metadata: {name: $2, namespace: $1}" 'spec:'
	pod_spec '  ' "$resource" "$product" "$3"
}

deployment_manifest() {
	local resource product
	read -r resource product _ <<<"$chat_row"
	printf '%s\n' 'apiVersion: apps/v1' 'kind: Deployment' "metadata: {name: server, namespace: $chat}" 'spec:' \
		"  replicas: $((chat_fits + 2))" '  selector: {matchLabels: {app: server}}' '  template:' \
		'    metadata: {labels: {app: server}}' '    spec:'
	pod_spec '      ' "$resource" "$product" 1
}

# times N QUANTITY: in bytes; quantities are as the controller writes them.
times() {
	local number=${2%%[A-Z]*} unit=${2##*[0-9]}
	case $unit in
	'') ;;
	Ki) number=$((number << 10)) ;;
	Mi) number=$((number << 20)) ;;
	Gi) number=$((number << 30)) ;;
	Ti) number=$((number << 40)) ;;
	*) failed "a unit of memory that the controller does not write: $2" ;;
	esac
	echo $(($1 * number))
}

# in_mi BYTES: as a person would write it, rounded up.
in_mi() {
	echo "$((($1 + 1048575) >> 20))Mi"
}

# Amounts for devices that are not known beforehand.
use_offer() {
	local rows row unit sum=0
	rows=$(kubectl get gmq team -n "$chat" -o \
		'jsonpath={range .status.resources[*]}{.name} {.product} {.unitMemory}{"\n"}{end}' | with_price)
	[[ -n $rows ]] || failed "no node offers a GPU whose memory its labels tell (GPU feature discovery sets them)"
	chat_row=$(head -n 1 <<<"$rows")
	mapfile -t research_rows < <(sed -n '2,4p' <<<"$rows")
	((${#research_rows[@]})) || research_rows=("$chat_row")
	unit=${chat_row##* }
	chat_memory=$(in_mi "$(times "$chat_fits" "$unit")")
	chat_per_pod=$(in_mi "$(times 2 "$unit")")
	chat_caps=("resources: {${chat_row%% *}: \"$chat_fits\"}")
	for row in "${research_rows[@]}"; do
		((sum += $(times 2 "${row##* }")))
	done
	research_memory=$(in_mi "$sum")
}

# Rows that have all three fields; the product may be missing in the middle.
with_price() {
	awk 'NF == 3 { print } NF == 2 && $2 ~ /^[0-9]+([KMGT]i)?$/ { print $1, "-", $2 }'
}
