package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/qos"
)

// servePodResources serves kubelet's PodResources API, version 1, of one node
// on DIR/pod-resources/kubelet.sock; kubelet's server over this node's managers.
func servePodResources(ctx context.Context, k *kubelet) (*grpc.Server, error) {
	socket := filepath.Join(k.dir, "pod-resources", "kubelet.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	api.RegisterPodResourcesListerServer(server, podresources.NewV1PodResourcesServer(ctx,
		podresources.PodResourcesProviders{Pods: k, Devices: k, Cpus: k, Memory: k, DynamicResources: k}))
	go func() {
		if err := server.Serve(listener); err != nil {
			klog.FromContext(ctx).Error(err, "PodResources", "node", k.name)
		}
	}()
	return server, nil
}

// What follows lets a kubelet be each of the server's sources.

func (k *kubelet) GetActivePods() []*v1.Pod { return k.activePods() }
func (k *kubelet) GetPods() []*v1.Pod       { return k.activePods() }

func (k *kubelet) GetPodByName(namespace, name string) (*v1.Pod, bool) {
	pods := k.activePods()
	i := slices.IndexFunc(pods, func(p *v1.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if i < 0 {
		return nil, false
	}
	return pods[i], true
}

func (k *kubelet) UpdateAllocatedDevices(logger klog.Logger) {
	k.devices.UpdateAllocatedDevices(logger)
}

func (k *kubelet) GetDevices(podUID, container string) []*api.ContainerDevices {
	return listDevices(k.devices.GetDevices(podUID, container))
}

func (k *kubelet) GetAllocatableDevices(logger klog.Logger) []*api.ContainerDevices {
	return listDevices(k.devices.GetAllocatableDevices(logger))
}

// listDevices writes the devices as kubelet does: an entry for each device and
// NUMA node, without topology where there is none.
func listDevices(all devicemanager.ResourceDeviceInstances) []*api.ContainerDevices {
	var list []*api.ContainerDevices
	for resource, devices := range all {
		for id, device := range devices {
			if device.GetTopology() == nil {
				list = append(list, &api.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}})
			}
			for _, node := range device.GetTopology().GetNodes() {
				topology := &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: node.GetID()}}}
				list = append(list, &api.ContainerDevices{
					ResourceName: resource, DeviceIds: []string{id}, Topology: topology})
			}
		}
	}
	return list
}

// GetCPUs: only CPUs that the container has to itself.
func (k *kubelet) GetCPUs(pod *v1.Pod, container *v1.Container) []int64 {
	if k.cpus.GetResourceIsolationLevel(pod, container) != qos.ResourceIsolationContainer {
		return []int64{}
	}
	return numbers(k.cpus.GetExclusiveCPUs(string(pod.UID), container.Name).List())
}

func (k *kubelet) GetPodCPUs(podUID string) []int64 { return numbers(k.cpus.GetPodCPUs(podUID).List()) }
func (k *kubelet) GetAllocatableCPUs() []int64      { return numbers(k.cpus.GetAllocatableCPUs().List()) }

func numbers(cpus []int) []int64 {
	list := make([]int64, 0, len(cpus))
	for _, cpu := range cpus {
		list = append(list, int64(cpu))
	}
	return list
}

// There is no memory manager and there are no DRA drivers on these nodes.

func (k *kubelet) GetMemory(klog.Logger, *v1.Pod, *v1.Container) []*api.ContainerMemory {
	return []*api.ContainerMemory{}
}
func (k *kubelet) GetPodMemory(klog.Logger, string) []*api.ContainerMemory {
	return []*api.ContainerMemory{}
}
func (k *kubelet) GetAllocatableMemory(klog.Logger) []*api.ContainerMemory {
	return []*api.ContainerMemory{}
}
func (k *kubelet) GetDynamicResources(klog.Logger, *v1.Pod, *v1.Container) []*api.DynamicResource {
	return []*api.DynamicResource{}
}
