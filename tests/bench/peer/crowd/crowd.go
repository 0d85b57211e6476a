// Package crowd makes clusters of any size out of a few hundred recorded objects. A pod of the crowd is
// a recorded one with another name, uid, version, address, owner and node: what differs between two pods
// of one workload, and nothing else, so that sizes and fields stay those of the API server.
package crowd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gpuqos.io/tests/bench/peer/frames"
)

// Kinds of pods, by what made them. DRA pods without an extended resource and pods without GPUs are
// recorded too, and are not part of any crowd: gpuqos does not keep them.
const (
	ReplicaSet  = "ReplicaSet"
	Job         = "Job"
	Gang        = "gang"
	StatefulSet = "StatefulSet"
	HAMi        = "HAMi"
)

// mixed is 60 % ReplicaSet, 20 % Job or gang, 10 % StatefulSet, 10 % HAMi.
var mixed = []string{ReplicaSet, ReplicaSet, ReplicaSet, Job, ReplicaSet,
	StatefulSet, ReplicaSet, Gang, ReplicaSet, HAMi}

// Kinds is what Options.Kind may be, beside "" for the mix.
var Kinds = []string{ReplicaSet, Job, Gang, StatefulSet, HAMi}

// nodeKinds is how often each recorded node is met among ten.
var nodeKinds = []string{"h100", "mi300x", "h100", "mig-mixed", "h100",
	"timesliced-renamed", "h100", "h100", "h100", "t4"}

// workloadPods is how many pods share an owner.
const workloadPods = 8

// Options say how large the crowd is. The same options give the same bytes.
type Options struct {
	Folder     string // of the recording
	Pods       int
	Nodes      int
	Namespaces int
	Kind       string // "" for the mix, else all pods are of this kind
	PodBytes   int    // pods are filled up to this size; 0: as recorded
}

// Crowd is safe for use by many goroutines: it only reads.
type Crowd struct {
	Options
	templates map[string][][]*corev1.Pod // kind: manifests: recorded pods
	nodes     map[string]*corev1.Node
	nodesOf   map[string][]int // kind of node: indexes of nodes
}

// New reads the recording.
func New(options Options) (*Crowd, error) {
	c := &Crowd{Options: options, nodesOf: map[string][]int{}}
	if err := c.loadPods(); err != nil {
		return nil, err
	}
	if err := c.loadNodes(); err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		kind := nodeKinds[i%len(nodeKinds)]
		c.nodesOf[kind] = append(c.nodesOf[kind], i)
	}
	return c, nil
}

func (c *Crowd) loadPods() error {
	pods, err := frames.Load[corev1.Pod](filepath.Join(c.Folder, "pods.watch.pb"), "Pod")
	if err != nil {
		return err
	}
	manifests := map[string][]*corev1.Pod{}
	var order []string
	for _, pod := range pods {
		if manifests[pod.Namespace] == nil {
			order = append(order, pod.Namespace)
		}
		manifests[pod.Namespace] = append(manifests[pod.Namespace], pod)
	}
	c.templates = map[string][][]*corev1.Pod{}
	for _, name := range order {
		if kind := kindOf(manifests[name][0]); kind != "" {
			c.templates[kind] = append(c.templates[kind], manifests[name])
		}
	}
	for _, kind := range Kinds {
		if len(c.templates[kind]) == 0 {
			return fmt.Errorf("the recording has no pod of kind %s", kind)
		}
	}
	return nil
}

func (c *Crowd) loadNodes() error {
	nodes, err := frames.Load[corev1.Node](filepath.Join(c.Folder, "nodes.watch.pb"), "Node")
	c.nodes = map[string]*corev1.Node{}
	for _, node := range nodes {
		c.nodes[strings.TrimSuffix(node.Name, "-0")] = node
	}
	return err
}

func asksForGPU(pod *corev1.Pod) (gpu, hami bool) {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range list {
			for name := range container.Resources.Limits {
				gpu = gpu || strings.HasPrefix(string(name), "nvidia.com/") || strings.HasPrefix(string(name), "amd.com/")
				hami = hami || name == "nvidia.com/gpumem"
			}
		}
	}
	return gpu, hami
}

func kindOf(pod *corev1.Pod) string {
	gpu, hami := asksForGPU(pod)
	switch {
	case !gpu:
		return ""
	case hami:
		return HAMi
	case strings.HasPrefix(pod.Namespace, "gang-"):
		return Gang
	case len(pod.OwnerReferences) > 0:
		return pod.OwnerReferences[0].Kind
	}
	return ""
}

// digits are those of which Kubernetes makes the random ends of names.
const digits = "bcdfghjklmnpqrstvwxz2456789"

// mix scatters a number over 64 bits (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func code(seed uint64, size int) string {
	text := make([]byte, size)
	for i := range text {
		text[i] = digits[seed%uint64(len(digits))]
		seed /= uint64(len(digits))
	}
	return string(text)
}

func uid(seed uint64) types.UID {
	a, b := mix(seed), mix(^seed)
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a>>32), uint16(a>>16),
		a&0xfff, b>>52, b&0xffffffffffff))
}

// place is where a pod stands in the crowd.
type place struct {
	namespace, workload, member int
	kind                        string
}

func (c *Crowd) placeOf(i int) place {
	kinds := mixed
	if c.Kind != "" {
		kinds = []string{c.Kind}
	}
	perNamespace := max(1, c.Pods/c.Namespaces)
	p := place{namespace: min(i/perNamespace, c.Namespaces-1), kind: kinds[i%len(kinds)]}
	// Pods of one kind are counted through, whatever stands between them.
	nth := i / len(kinds)
	for _, kind := range kinds {
		if kind == p.kind && len(kinds) > 1 {
			nth = nth*strings.Count(strings.Join(kinds, " ")+" ", p.kind+" ") + strings.Count(
				strings.Join(kinds[:i%len(kinds)], " ")+" ", p.kind+" ")
			break
		}
	}
	p.workload, p.member = nth/workloadPods, nth%workloadPods
	return p
}

// Namespace names the n-th one.
func Namespace(n int) string {
	return fmt.Sprintf("team-%05d", n)
}

// renaming is what takes the place of what in one pod.
type renaming struct {
	name, owner, ownerName string
	ownerUID               types.UID
}

func rename(pod *corev1.Pod, p place, i int) renaming {
	hash := mix(uint64(p.workload)<<8 ^ 0x5151)
	r := renaming{ownerUID: uid(hash)}
	if len(pod.OwnerReferences) > 0 {
		r.owner = pod.OwnerReferences[0].Name
	}
	switch p.kind {
	case ReplicaSet:
		old := pod.Labels["pod-template-hash"]
		r.ownerName = strings.TrimSuffix(r.owner, old) + code(hash, len(old))
		r.name = r.ownerName + "-" + code(mix(uint64(i)), 5)
	case StatefulSet:
		r.ownerName = r.owner + "-" + code(hash, 5)
		r.name = fmt.Sprintf("%s-%d", r.ownerName, p.member)
	case Job:
		r.ownerName = r.owner + "-" + code(hash, 4)
		r.name = strings.Replace(pod.Name[:len(pod.Name)-5], r.owner, r.ownerName, 1) + code(mix(uint64(i)), 5)
	default:
		cut := strings.LastIndex(pod.Name, "-")
		r.name = fmt.Sprintf("%s-%s-%d", pod.Name[:cut], code(hash, 5), p.member)
		r.ownerName = r.owner
	}
	return r
}

func (r renaming) apply(pod *corev1.Pod) {
	if r.owner != "" {
		old := []byte(pod.OwnerReferences[0].UID)
		pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = r.ownerName, r.ownerUID
		pod.GenerateName = strings.Replace(pod.GenerateName, r.owner, r.ownerName, 1)
		for i := range pod.ManagedFields {
			fields := pod.ManagedFields[i].FieldsV1
			fields.Raw = bytes.ReplaceAll(fields.Raw, old, []byte(r.ownerUID))
		}
		for key, value := range pod.Labels {
			switch value {
			case string(old):
				pod.Labels[key] = string(r.ownerUID)
			case r.owner:
				pod.Labels[key] = r.ownerName
			}
		}
	}
	if hash, ok := pod.Labels["pod-template-hash"]; ok {
		pod.Labels["pod-template-hash"] = r.ownerName[len(r.ownerName)-len(hash):]
	}
	if name, ok := pod.Labels["statefulset.kubernetes.io/pod-name"]; ok && name == pod.Name {
		pod.Labels["statefulset.kubernetes.io/pod-name"] = r.name
	}
	if pod.Spec.Hostname == pod.Name {
		pod.Spec.Hostname = r.name
	}
	pod.Name = r.name
}

func (c *Crowd) nodeName(recorded string, i int) string {
	kind := strings.TrimSuffix(recorded, "-0")
	all := c.nodesOf[kind]
	if len(all) == 0 {
		return recorded
	}
	return NodeName(kind, all[int(mix(uint64(i))%uint64(len(all)))])
}

// NodeName is the name of the n-th node.
func NodeName(kind string, n int) string {
	return fmt.Sprintf("gpu-%s-%05d", kind, n)
}

// Pod makes the i-th pod; version is its resourceVersion.
func (c *Crowd) Pod(i int, version string) *corev1.Pod {
	p := c.placeOf(i)
	manifests := c.templates[p.kind]
	manifest := manifests[p.workload%len(manifests)]
	pod := manifest[p.member%len(manifest)].DeepCopy()

	rename(pod, p, i).apply(pod)
	pod.Namespace = Namespace(p.namespace)
	pod.UID = uid(uint64(i) + 1<<40)
	pod.ResourceVersion = version
	pod.Spec.NodeName = c.nodeName(pod.Spec.NodeName, i)
	pod.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	if c.PodBytes > 0 {
		fill(pod, c.PodBytes)
	}
	return pod
}

// fill lengthens the environment of a pod, and what managedFields say of it, to a size in bytes.
func fill(pod *corev1.Pod, size int) {
	env := &pod.Spec.Containers[0].Env
	for n := 0; pod.Size() < size-160; n++ {
		name := fmt.Sprintf("APP_SETTING_%02d", n)
		*env = append(*env, corev1.EnvVar{Name: name, Value: "svc-" + code(mix(uint64(n)), 12) + ".internal:8443"})
		if len(pod.ManagedFields) > 0 {
			fields := pod.ManagedFields[0].FieldsV1
			open := bytes.TrimSuffix(fields.Raw, []byte("}"))
			fields.Raw = fmt.Appendf(nil, `%s,"k:{\"name\":\"%s\"}":{".":{},"f:name":{},"f:value":{}}}`, open, name)
		}
	}
	if gap := size - pod.Size(); gap > 24 {
		*env = append(*env, corev1.EnvVar{Name: "APP_NOTE", Value: strings.Repeat("x", gap-14)})
	}
}

// PodFrame is the i-th pod as an event.
func (c *Crowd) PodFrame(verb string, i int, version string) ([]byte, error) {
	data, err := frames.Object("v1", "Pod", c.Pod(i, version))
	if err != nil {
		return nil, err
	}
	return frames.Event(verb, data)
}

// NodeFrame is the i-th node as an event.
func (c *Crowd) NodeFrame(verb string, i int, version string) ([]byte, error) {
	kind := nodeKinds[i%len(nodeKinds)]
	node := c.nodes[kind].DeepCopy()
	node.Name = NodeName(kind, i)
	node.UID = uid(uint64(i) + 1<<41)
	node.ResourceVersion = version
	node.Labels["kubernetes.io/hostname"] = node.Name
	data, err := frames.Object("v1", "Node", node)
	if err != nil {
		return nil, err
	}
	return frames.Event(verb, data)
}

// Bookmark ends the initial events of a watch.
func Bookmark(kind, version string) ([]byte, error) {
	var object frames.Message
	annotations := map[string]string{"k8s.io/initial-events-end": "true"}
	switch kind {
	case "Pod":
		pod := &corev1.Pod{}
		pod.ResourceVersion, pod.Annotations = version, annotations
		object = pod
	default:
		node := &corev1.Node{}
		node.ResourceVersion, node.Annotations = version, annotations
		object = node
	}
	data, err := frames.Object("v1", kind, object)
	if err != nil {
		return nil, err
	}
	return frames.Event("BOOKMARK", data)
}
