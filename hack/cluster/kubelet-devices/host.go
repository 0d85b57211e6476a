package main

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// A kubelet's own: its Lease lasts 40 s and is renewed every 10.
const (
	leaseSeconds  = 40
	renewInterval = leaseSeconds * time.Second / 4
)

// host is a kubelet with what a node needs besides: its Node's status and
// Lease, its servers, and the worker that plays its pods.
type host struct {
	uid     types.UID
	kubelet *kubelet
	pods    *pods
	client  kubernetes.Interface

	podResources *grpc.Server
	configz      *http.Server
	port         int32

	latest atomic.Pointer[layout] // as the kubelet's, with the cards' health now
	told   atomic.Bool            // the Node's status is up to date

	cancel context.CancelFunc
	work   sync.WaitGroup
}

func (h *host) serve(ctx context.Context, a *authority) error {
	var err error
	if h.configz, h.port, err = serveKubelet(ctx, a, h.client, h.kubelet); err != nil {
		return err
	}
	h.podResources, err = servePodResources(ctx, h.kubelet)
	return err
}

func (h *host) start(ctx context.Context, before []*v1.Pod) {
	ctx, h.cancel = context.WithCancel(ctx)
	h.work.Go(func() { h.pods.run(ctx, before) })
	h.work.Go(func() { h.beat(ctx) })
	h.work.Go(func() { h.pods.followHealth(ctx) })
}

// setHealth is a device plugin's new list. The device manager tells which pods
// it concerns, see followHealth.
func (h *host) setHealth(ctx context.Context, l *layout) {
	if reflect.DeepEqual(l, h.latest.Swap(l)) {
		return
	}
	h.kubelet.setDevices(klog.FromContext(ctx), l.devices())
	h.told.Store(false)
	h.tellStatus(ctx)
}

// stop returns when nothing of the node is left but one goroutine of the CPU
// manager, which has no end and does nothing.
func (h *host) stop(ctx context.Context) {
	h.cancel()
	h.pods.queue.ShutDown()
	h.work.Wait()
	h.pods.endAll(ctx)
	h.podResources.Stop()
	if err := h.configz.Close(); err != nil {
		klog.FromContext(ctx).Error(err, "configz", "node", h.kubelet.name)
	}
	if err := h.kubelet.stop(klog.FromContext(ctx)); err != nil {
		klog.FromContext(ctx).Error(err, "device manager", "node", h.kubelet.name)
	}
}

// beat makes the node Ready and keeps it so. Without its Lease the node's
// Ready condition would be taken back, so the status comes after it.
func (h *host) beat(ctx context.Context) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := h.renewLease(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Lease", "node", h.kubelet.name)
			return
		}
		h.tellStatus(ctx)
	}, renewInterval, 0.04, true)
}

// tellStatus writes the Node's status if it has changed; the next beat tries
// again what fails.
func (h *host) tellStatus(ctx context.Context) {
	if h.told.Swap(true) {
		return
	}
	if err := h.writeStatus(ctx); err != nil && ctx.Err() == nil {
		h.told.Store(false)
		klog.FromContext(ctx).Error(err, "status", "node", h.kubelet.name)
	}
}

func (h *host) renewLease(ctx context.Context) error {
	leases := h.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	spec := coordinationv1.LeaseSpec{HolderIdentity: &h.kubelet.name,
		LeaseDurationSeconds: ptr.To[int32](leaseSeconds), RenewTime: ptr.To(metav1.NowMicro())}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, h.kubelet.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	lease := &coordinationv1.Lease{Spec: spec}
	lease.Name = h.kubelet.name
	lease.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: h.kubelet.name, UID: h.uid}}
	_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	return err
}

func (h *host) writeStatus(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"status": h.status(klog.FromContext(ctx))})
	if err != nil {
		return err
	}
	_, err = h.client.CoreV1().Nodes().Patch(ctx, h.kubelet.name, types.StrategicMergePatchType,
		patch, metav1.PatchOptions{}, "status")
	return err
}

// status: what the layout does not tell, such as the memory where it is left
// out, stays as the Node was created with.
func (h *host) status(logger klog.Logger) *v1.NodeStatus {
	now := metav1.NewTime(time.Now())
	info := h.kubelet.layout.machineInfo()
	capacity, allocatable, _ := h.kubelet.devices.GetCapacity(logger)
	capacity[v1.ResourceCPU] = *resource.NewQuantity(int64(info.NumCores), resource.DecimalSI)
	allocatable[v1.ResourceCPU] = *resource.NewQuantity(int64(info.NumCores-h.kubelet.reserved), resource.DecimalSI)
	if info.MemoryCapacity > 0 {
		capacity[v1.ResourceMemory] = *resource.NewQuantity(int64(info.MemoryCapacity), resource.BinarySI)
		allocatable[v1.ResourceMemory] = capacity[v1.ResourceMemory]
	}
	capacity[v1.ResourcePods] = resource.MustParse("250")
	allocatable[v1.ResourcePods] = capacity[v1.ResourcePods]
	status := &v1.NodeStatus{Capacity: capacity, Allocatable: allocatable,
		Addresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: "127.0.0.1"},
			{Type: v1.NodeHostName, Address: h.kubelet.name}},
		DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: h.port}},
		NodeInfo: v1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64",
			OSImage: "kubelet-devices", KubeletVersion: "kubelet-devices",
			ContainerRuntimeVersion: "kwok://kubelet-devices"}}
	for _, t := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		condition := v1.NodeCondition{Type: t, Status: v1.ConditionFalse, Reason: "KubeletHasNoPressure",
			LastHeartbeatTime: now, LastTransitionTime: now}
		if t == v1.NodeReady {
			condition.Status, condition.Reason = v1.ConditionTrue, "KubeletReady"
		}
		status.Conditions = append(status.Conditions, condition)
	}
	return status
}
