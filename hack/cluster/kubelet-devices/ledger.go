package main

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// ledger is what the kubelets decided, for the report: every pod that was ever
// admitted or rejected since the start, in the order of the decisions.
type ledger struct {
	mutex   sync.Mutex
	clock   int64
	entries []*entry
}

// entry is one decision. Admitted and Released are numbers of one count over
// all nodes: a pod held its devices from the one to the other, and still does
// if it is not yet released (0). Where CPUs and cards lie is what kubelet's
// managers say; a pod without CPUs of its own may run on every NUMA node.
type entry struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	UID        string      `json:"uid"`
	Node       string      `json:"node"`
	Verdict    string      `json:"verdict"` // Admitted or Rejected
	Reason     string      `json:"reason,omitempty"`
	Message    string      `json:"message,omitempty"`
	Decided    int64       `json:"decided"`
	Released   int64       `json:"released"`
	Containers []container `json:"containers"`
	CPUNUMA    []int64     `json:"cpuNuma"`
	GPUNUMA    []int64     `json:"gpuNuma"`
	Spans      spans       `json:"spans"`
}

type container struct {
	Name    string   `json:"name"`
	CPUs    []int64  `json:"cpus"`
	Devices []device `json:"devices"`
}

type device struct {
	ID   string  `json:"id"`
	NUMA []int64 `json:"numa"`
}

// spans: the pod's own CPUs are not on the NUMA nodes of its GPUs; its GPUs are
// on several.
type spans struct {
	CPUGPU bool `json:"cpuGpu"`
	GPUs   bool `json:"gpus"`
}

func (l *ledger) reject(k *kubelet, pod *v1.Pod, reason, message string) *entry {
	e := newEntry(k, pod, "Rejected")
	e.Reason, e.Message = reason, message
	return l.add(e)
}

// admit writes down what the pod was given.
func (l *ledger) admit(k *kubelet, pod *v1.Pod) *entry {
	e := newEntry(k, pod, "Admitted")
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		e.Containers = append(e.Containers, holdings(k, pod, &c))
	}
	var cpus []int64
	for _, c := range e.Containers {
		cpus = append(cpus, c.CPUs...)
		for _, d := range c.Devices {
			e.GPUNUMA = append(e.GPUNUMA, d.NUMA...)
		}
	}
	e.CPUNUMA = k.layout.numaOf(cpus)
	slices.Sort(e.CPUNUMA)
	slices.Sort(e.GPUNUMA)
	e.GPUNUMA = slices.Compact(e.GPUNUMA)
	e.Spans.GPUs = len(e.GPUNUMA) > 1
	e.Spans.CPUGPU = len(e.CPUNUMA) > 0 && len(e.GPUNUMA) > 0 && !slices.Equal(e.CPUNUMA, e.GPUNUMA)
	return l.add(e)
}

func newEntry(k *kubelet, pod *v1.Pod, verdict string) *entry {
	return &entry{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Node: k.name,
		Verdict: verdict, Containers: []container{}, CPUNUMA: []int64{}, GPUNUMA: []int64{}}
}

func holdings(k *kubelet, pod *v1.Pod, c *v1.Container) container {
	held := container{Name: c.Name, CPUs: k.GetCPUs(pod, c), Devices: []device{}}
	for _, devices := range k.devices.GetDevices(string(pod.UID), c.Name) {
		for id, d := range devices {
			nodes := []int64{}
			for _, node := range d.GetTopology().GetNodes() {
				nodes = append(nodes, node.ID)
			}
			held.Devices = append(held.Devices, device{ID: id, NUMA: nodes})
		}
	}
	slices.SortFunc(held.Devices, func(a, b device) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return held
}

func (l *ledger) add(e *entry) *entry {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.clock++
	e.Decided = l.clock
	l.entries = append(l.entries, e)
	return e
}

// release notes the end of an admission; the second time it changes nothing.
func (l *ledger) release(e *entry) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if e.Verdict == "Admitted" && e.Released == 0 {
		l.clock++
		e.Released = l.clock
	}
}

// copies are the entries as they are now.
func (l *ledger) copies() []entry {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	all := make([]entry, 0, len(l.entries))
	for _, e := range l.entries {
		all = append(all, *e)
	}
	return all
}
