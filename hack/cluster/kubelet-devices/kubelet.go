package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// kubelet is the part of one node's kubelet that decides about devices and
// CPUs: kubelet's own managers, put together as its container manager does.
type kubelet struct {
	name     string
	dir      string // as /var/lib/kubelet
	layout   *layout
	resource string
	reserved int // CPUs that no pod gets for itself

	topology topologymanager.Manager
	devices  *devicemanager.ManagerImpl
	cpus     cpumanager.Manager
	handlers []lifecycle.PodAdmitHandler

	ready atomic.Bool // the pods bound before the start have been seen
	mutex sync.Mutex
	pods  map[types.UID]*v1.Pod // admitted, or being so, and not ended
}

// nodeGetter returns the Node as a kubelet's cache has it; a copy.
type nodeGetter = func(ctx context.Context, useCache bool) (*v1.Node, error)

func newKubelet(ctx context.Context, k *kubelet, getNode nodeGetter) (*kubelet, error) {
	logger := klog.FromContext(ctx)
	k.pods = map[types.UID]*v1.Pod{}
	info := k.layout.machineInfo()
	var err error
	k.topology, err = topologymanager.NewManager(logger, info.Topology,
		k.layout.Kubelet.TopologyPolicy, k.layout.Kubelet.TopologyScope, nil)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(k.dir, "device-plugins", "kubelet.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return nil, err
	}
	k.devices, err = newDeviceManagerAt(logger, socket, info.Topology, k.topology)
	if err != nil {
		return nil, err
	}
	k.topology.AddHintProvider(logger, k.devices)
	// The reconciling only tells a container runtime what it has missed.
	k.cpus, err = cpumanager.NewManager(logger, k.layout.Kubelet.CPUPolicy, nil, time.Hour, info,
		cpuset.New(), k.reservation(), k.dir, k.topology)
	if err != nil {
		return nil, err
	}
	k.topology.AddHintProvider(logger, k.cpus)
	k.handlers = []lifecycle.PodAdmitHandler{k.topology,
		lifecycle.NewPredicateAdmitHandler(getNode, noPreemption{}, k.devices.UpdatePluginResources)}
	return k, k.start(ctx)
}

func (k *kubelet) start(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	sources := config.NewSourcesReady(func(sets.Set[string]) bool { return k.ready.Load() })
	err := k.cpus.Start(ctx, k.activePods, sources, noStatuses{}, nil, containermap.NewContainerMap())
	if err != nil {
		return fmt.Errorf("CPU manager: %w", err)
	}
	err = k.devices.Start(logger, k.activePods, sources, containermap.NewContainerMap(), sets.New[string]())
	if err != nil {
		return fmt.Errorf("device manager: %w", err)
	}
	if err := k.devices.PluginConnected(ctx, k.resource, &devicePlugin{resource: k.resource}); err != nil {
		return err
	}
	k.setDevices(logger, k.layout.devices())
	return nil
}

// setDevices is what the device manager hears when the plugin's list changes.
func (k *kubelet) setDevices(logger klog.Logger, devices []*pluginapi.Device) {
	k.devices.PluginListAndWatchReceiver(logger, k.resource, &pluginapi.ListAndWatchResponse{Devices: devices})
}

func (k *kubelet) stop(logger klog.Logger) error {
	return k.devices.Stop(logger)
}

// reservation is kubelet's systemReserved.
func (k *kubelet) reservation() v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(k.reserved), resource.DecimalSI)}
}

// admit decides as kubelet does when it first sees a pod, and on success holds
// the pod's CPUs and devices until release. A pod already held keeps what it has.
func (k *kubelet) admit(ctx context.Context, pod *v1.Pod) lifecycle.PodAdmitResult {
	others := k.otherPods(pod)
	// The managers free what belongs to no active pod, also between two
	// containers of one pod: it has to be among them from the start.
	k.mutex.Lock()
	k.pods[pod.UID] = pod
	k.mutex.Unlock()
	attrs := &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others, Operation: lifecycle.AddOperation}
	for _, handler := range k.handlers {
		if result := handler.Admit(ctx, attrs); !result.Admit {
			k.forget(pod.UID)
			return result
		}
	}
	logger := klog.FromContext(ctx)
	for _, c := range pod.Spec.Containers {
		k.topology.AddContainer(logger, pod, &c, containerID(pod, c.Name))
	}
	return lifecycle.PodAdmitResult{Admit: true}
}

// release ends a pod: what it held is free for the next.
func (k *kubelet) release(logger klog.Logger, pod *v1.Pod) {
	k.forget(pod.UID)
	for _, c := range pod.Spec.Containers {
		// It never fails, and only forgets a hint.
		_ = k.topology.RemoveContainer(logger, containerID(pod, c.Name))
	}
}

func (k *kubelet) forget(uid types.UID) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.pods, uid)
}

func (k *kubelet) activePods() []*v1.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	pods := make([]*v1.Pod, 0, len(k.pods))
	for _, pod := range k.pods {
		pods = append(pods, pod)
	}
	return pods
}

func (k *kubelet) otherPods(pod *v1.Pod) []*v1.Pod {
	var others []*v1.Pod
	for _, other := range k.activePods() {
		if other.UID != pod.UID {
			others = append(others, other)
		}
	}
	return others
}

func containerID(pod *v1.Pod, container string) string {
	return string(pod.UID) + "-" + container
}

// noStatuses: the CPU manager asks for a pod's status only to tell a container
// runtime about its CPUs, and there is no runtime.
type noStatuses struct{}

func (noStatuses) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

// noPreemption: kubelet ends other pods for critical ones; here none is.
type noPreemption struct{}

func (noPreemption) HandleAdmissionFailure(_ context.Context, _ *v1.Pod,
	reasons []lifecycle.PredicateFailureReason, _ lifecycle.Operation) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}
