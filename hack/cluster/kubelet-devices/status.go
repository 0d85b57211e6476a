package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// The annotations of a pod that change its life; as those of kwok's stages.
const (
	startAfter   = "dev.gpuqos.io/start-after"
	runFor       = "dev.gpuqos.io/run-for"
	exitCode     = "dev.gpuqos.io/exit-code"
	terminateFor = "dev.gpuqos.io/terminate-for"
)

func waitOf(pod *v1.Pod, annotation string, otherwise time.Duration) time.Duration {
	if wait, err := time.ParseDuration(pod.Annotations[annotation]); err == nil {
		return wait
	}
	return otherwise
}

// rejectedStatus is kubelet's own: no containers, no conditions.
func rejectedStatus(reason, message string) *v1.PodStatus {
	now := metav1.Now()
	return &v1.PodStatus{Phase: v1.PodFailed, Reason: reason,
		Message: "Pod was rejected: " + message, StartTime: &now}
}

// runningStatus is that of a pod whose containers have all started. The devices
// in it come from the device manager.
func runningStatus(logger klog.Logger, k *kubelet, pod *v1.Pod, started metav1.Time) *v1.PodStatus {
	status := &v1.PodStatus{Phase: v1.PodRunning, StartTime: &started, HostIP: "127.0.0.1",
		HostIPs: []v1.HostIP{{IP: "127.0.0.1"}}}
	setAddress(pod, status)
	types := []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady}
	for _, gate := range pod.Spec.ReadinessGates {
		types = append(types, gate.ConditionType)
	}
	for _, t := range types {
		status.Conditions = append(status.Conditions,
			v1.PodCondition{Type: t, Status: v1.ConditionTrue, LastTransitionTime: started})
	}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(pod, c, running))
	}
	for _, c := range pod.Spec.InitContainers {
		state := running
		if c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			state = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason: "Completed", StartedAt: started, FinishedAt: started}}
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, containerStatus(pod, c, state))
	}
	k.devices.UpdateAllocatedResourcesStatus(logger, pod, status)
	sortDevices(status)
	return status
}

// refreshedStatus is what the device manager would change in the status that the
// pod has, or nil.
func refreshedStatus(logger klog.Logger, k *kubelet, pod *v1.Pod) *v1.PodStatus {
	status := &v1.PodStatus{ContainerStatuses: pod.DeepCopy().Status.ContainerStatuses}
	k.devices.UpdateAllocatedResourcesStatus(logger, pod, status)
	sortDevices(status)
	if reflect.DeepEqual(status.ContainerStatuses, pod.Status.ContainerStatuses) {
		return nil
	}
	return status
}

func containerStatus(pod *v1.Pod, c v1.Container, state v1.ContainerState) v1.ContainerStatus {
	started := state.Running != nil
	return v1.ContainerStatus{Name: c.Name, Image: c.Image, State: state, Started: &started,
		Ready:       started || state.Terminated != nil && state.Terminated.ExitCode == 0,
		ContainerID: "kwok://" + containerID(pod, c.Name)}
}

// sortDevices: kubelet leaves them in the order of a map, and so writes a
// status anew for nothing.
func sortDevices(status *v1.PodStatus) {
	for _, c := range status.ContainerStatuses {
		for _, r := range c.AllocatedResourcesStatus {
			slices.SortFunc(r.Resources, func(a, b v1.ResourceHealth) int {
				if a.ResourceID < b.ResourceID {
					return -1
				}
				return 1
			})
		}
	}
}

var addresses atomic.Uint32

// setAddress: a pod keeps the address it has; a new one gets the next of 10.244.0.0/16.
func setAddress(pod *v1.Pod, status *v1.PodStatus) {
	ip := pod.Status.PodIP
	if ip == "" && pod.Spec.HostNetwork {
		ip = status.HostIP
	}
	if ip == "" {
		n := addresses.Add(1)
		ip = fmt.Sprintf("10.244.%d.%d", n>>8&0xff, n&0xff)
	}
	status.PodIP, status.PodIPs = ip, []v1.PodIP{{IP: ip}}
}

// endedStatus is that of a pod whose containers have all ended with this code.
// Its devices stay in its status, as kubelet leaves them.
func endedStatus(pod *v1.Pod, code int32) *v1.PodStatus {
	now := metav1.Now()
	status := &v1.PodStatus{Phase: v1.PodFailed}
	condition, reason := "PodFailed", "Error"
	if code == 0 {
		status.Phase, condition, reason = v1.PodSucceeded, "PodCompleted", "Completed"
	}
	for _, t := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		status.Conditions = append(status.Conditions, v1.PodCondition{
			Type: t, Status: v1.ConditionFalse, Reason: condition, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		state := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}}
		if pod.Status.StartTime != nil {
			state.Terminated.StartedAt = *pod.Status.StartTime
		}
		ended := containerStatus(pod, c, state)
		ended.Ready = false
		for _, old := range pod.Status.ContainerStatuses {
			if old.Name == c.Name {
				ended.AllocatedResourcesStatus = old.AllocatedResourcesStatus
			}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, ended)
	}
	return status
}

func exitCodeOf(pod *v1.Pod) int32 {
	code, err := strconv.ParseInt(pod.Annotations[exitCode], 10, 32)
	if err != nil {
		return 0
	}
	return int32(code)
}

// statusPatch holds for this very pod, not for one of the same name after it.
func statusPatch(pod *v1.Pod, status *v1.PodStatus) []byte {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		panic(err) // a PodStatus always becomes JSON
	}
	return text
}
