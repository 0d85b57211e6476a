package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"
)

// Where a node's layout stands, in docs/topology.md's format. The first is the
// machine as it is and goes before the second, which an agent under test may
// write, rightly or not.
const (
	machineAnnotation = "dev.gpuqos.io/machine"
	layoutAnnotation  = "gpuqos.io/topology"
)

// layout is what a kubelet needs of a node's layout. What is left out there is
// kubelet's own default here.
type layout struct {
	Version int `json:"version"`
	Kubelet struct {
		TopologyPolicy string `json:"topologyPolicy"`
		TopologyScope  string `json:"topologyScope"`
		CPUPolicy      string `json:"cpuPolicy"`
	} `json:"kubelet"`
	NUMA []numaNode `json:"numa"`
	GPUs []gpu      `json:"gpus"`
}

type numaNode struct {
	ID        int               `json:"id"`
	CPUs      string            `json:"cpus"`
	Memory    resource.Quantity `json:"memory"`
	Distances []uint64          `json:"distances"`
}

// gpu.NUMA is an index in layout.NUMA, not the kernel's number.
type gpu struct {
	UUID   string `json:"uuid"`
	PCI    string `json:"pci"`
	NUMA   *int   `json:"numa"`
	Health string `json:"health"`
}

// id is the device ID under which a device plugin would offer the card.
func (g gpu) id() string {
	if g.UUID != "" {
		return g.UUID
	}
	return g.PCI
}

func (n numaNode) cpus() (cpuset.CPUSet, error) {
	return cpuset.Parse(n.CPUs)
}

// layoutOf finds the layout of a node: nil without an error where there is none.
func layoutOf(node *v1.Node, given map[string]json.RawMessage) (*layout, error) {
	if text := node.Annotations[machineAnnotation]; text != "" {
		return parseLayout([]byte(text))
	}
	if text, ok := given[node.Name]; ok {
		return parseLayout(text)
	}
	if text := node.Annotations[layoutAnnotation]; text != "" {
		return parseLayout([]byte(text))
	}
	return nil, nil
}

func parseLayout(text []byte) (*layout, error) {
	l := &layout{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("the layout is not as in docs/topology.md: %w", err)
	}
	if l.Version != 1 {
		return nil, fmt.Errorf("the layout has version %d, this program knows 1", l.Version)
	}
	setDefault(&l.Kubelet.TopologyPolicy, "none")
	setDefault(&l.Kubelet.TopologyScope, "container")
	setDefault(&l.Kubelet.CPUPolicy, "none")
	return l, l.check()
}

func setDefault(text *string, value string) {
	if *text == "" {
		*text = value
	}
}

// check looks only for what would stop a kubelet, or make it decide nonsense.
func (l *layout) check() error {
	seen := map[string]bool{}
	all := cpuset.New()
	for i, n := range l.NUMA {
		cpus, err := n.cpus()
		if err != nil {
			return fmt.Errorf("numa[%d].cpus: %w", i, err)
		}
		if both := all.Intersection(cpus); !both.IsEmpty() {
			return fmt.Errorf("numa[%d].cpus: %s are on another NUMA node too", i, both)
		}
		all = all.Union(cpus)
	}
	if all.IsEmpty() {
		return fmt.Errorf("the layout has no CPUs")
	}
	for i, g := range l.GPUs {
		if g.id() == "" || seen[g.id()] {
			return fmt.Errorf("gpus[%d]: neither uuid nor pci, or one that is there twice", i)
		}
		seen[g.id()] = true
		if g.NUMA != nil && (*g.NUMA < 0 || *g.NUMA >= len(l.NUMA)) {
			return fmt.Errorf("gpus[%d].numa: %d names none of the %d there", i, *g.NUMA, len(l.NUMA))
		}
	}
	return nil
}
