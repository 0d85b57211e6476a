package main

import (
	"reflect"
	"slices"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// machineInfo says of the layout what cAdvisor would say of the machine. Each
// NUMA node with CPUs counts as a socket, since the layout knows no sockets.
func (l *layout) machineInfo() *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{}
	for _, n := range l.NUMA {
		node := cadvisorapi.Node{Id: n.ID, Memory: uint64(n.Memory.Value()), Distances: n.Distances}
		cpus, _ := n.cpus() // check() has read it
		for _, threads := range cores(cpus.List()) {
			node.Cores = append(node.Cores, cadvisorapi.Core{
				Id: len(node.Cores), Threads: threads, SocketID: info.NumSockets,
			})
		}
		if len(node.Cores) > 0 {
			info.NumSockets++
		}
		info.NumCores += cpus.Size() // cAdvisor counts threads here
		info.NumPhysicalCores += len(node.Cores)
		info.MemoryCapacity += node.Memory
		info.Topology = append(info.Topology, node)
	}
	return info
}

// cores tells which CPUs of a NUMA node are one core's threads: where the CPUs
// are two runs of equal length, as Linux numbers two threads a core, the second
// run has the siblings of the first. Otherwise each CPU is a core.
func cores(cpus []int) [][]int {
	half := len(cpus) / 2
	paired := half > 0 && len(cpus)%2 == 0 && cpus[half] > cpus[half-1]+1 &&
		isRun(cpus[:half]) && isRun(cpus[half:])
	if !paired {
		half = len(cpus)
	}
	var all [][]int
	for i := range half {
		threads := []int{cpus[i]}
		if paired {
			threads = append(threads, cpus[half+i])
		}
		all = append(all, threads)
	}
	return all
}

func isRun(cpus []int) bool {
	return cpus[len(cpus)-1]-cpus[0] == len(cpus)-1
}

// devices are the cards as a device plugin lists them, by their IDs.
func (l *layout) devices() []*pluginapi.Device {
	var devices []*pluginapi.Device
	for _, g := range l.GPUs {
		device := &pluginapi.Device{ID: g.id(), Health: pluginapi.Healthy}
		if g.Health == "Failed" {
			device.Health = pluginapi.Unhealthy
		}
		if g.NUMA != nil {
			device.Topology = &pluginapi.TopologyInfo{
				Nodes: []*pluginapi.NUMANode{{ID: int64(l.NUMA[*g.NUMA].ID)}},
			}
		}
		devices = append(devices, device)
	}
	return devices
}

// isSameMachine: all the same but for the health of the cards, which changes as
// a machine runs.
func (l *layout) isSameMachine(other *layout) bool {
	return reflect.DeepEqual(l.withoutHealth(), other.withoutHealth())
}

func (l *layout) withoutHealth() layout {
	without := *l
	without.GPUs = slices.Clone(l.GPUs)
	for i := range without.GPUs {
		without.GPUs[i].Health = ""
	}
	return without
}

// numaOf finds the NUMA nodes of some CPUs.
func (l *layout) numaOf(cpus []int64) []int64 {
	found := []int64{}
	for _, n := range l.NUMA {
		own, _ := n.cpus()
		if slices.ContainsFunc(cpus, func(cpu int64) bool { return own.Contains(int(cpu)) }) {
			found = append(found, int64(n.ID))
		}
	}
	return found
}
