package main

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// pods plays the lives of one node's pods: one worker, which takes them in the
// order in which they were bound. What is written is retried; what the kubelet
// has decided stays.
type pods struct {
	kubelet *kubelet
	fleet   *fleet
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	known   map[types.NamespacedName]*life // of the worker alone
}

// life is a pod that the kubelet has seen, and how far it has come.
type life struct {
	pod      *v1.Pod
	verdict  *entry
	decided  time.Time
	started  time.Time // its status says Running; zero before
	leaving  time.Time // its deletion was first seen; zero before
	rejected bool
	told     bool // a rejected pod's status says so
}

func newPods(k *kubelet, f *fleet) *pods {
	return &pods{kubelet: k, fleet: f, known: map[types.NamespacedName]*life{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())}
}

// run works until the queue is shut down. Pods bound before the start come
// first, the oldest first, as kubelet does it.
func (p *pods) run(ctx context.Context, before []*v1.Pod) {
	slices.SortStableFunc(before, func(a, b *v1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, pod := range before {
		p.step(ctx, keyOf(pod))
	}
	p.kubelet.ready.Store(true)
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		p.step(ctx, key)
		p.queue.Done(key)
	}
}

// followHealth looks again at the pods whose devices have changed.
func (p *pods) followHealth(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case update := <-p.kubelet.devices.Updates():
			for _, pod := range p.kubelet.activePods() {
				if slices.Contains(update.PodUIDs, string(pod.UID)) {
					p.queue.Add(keyOf(pod))
				}
			}
		}
	}
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func (p *pods) step(ctx context.Context, key types.NamespacedName) {
	err := p.sync(ctx, key)
	// Gone, or another pod of the same name: the watch tells what to do next.
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		p.queue.Forget(key)
		return
	}
	klog.FromContext(ctx).Error(err, "pod", "pod", key, "node", p.kubelet.name)
	p.queue.AddRateLimited(key)
}

func (p *pods) sync(ctx context.Context, key types.NamespacedName) error {
	pod := p.fleet.pod(key)
	if pod != nil && pod.Spec.NodeName != p.kubelet.name {
		pod = nil
	}
	known := p.known[key]
	if known != nil && (pod == nil || pod.UID != known.pod.UID) {
		p.end(ctx, known)
		delete(p.known, key)
		known = nil
	}
	switch {
	case pod == nil:
		return nil
	case pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded:
		p.end(ctx, known)
		return p.removeDeleted(ctx, pod)
	case pod.DeletionTimestamp != nil:
		return p.terminate(ctx, pod, known)
	case known == nil:
		known = p.decide(ctx, pod)
		p.known[key] = known
	}
	if known.rejected {
		return p.tellRejection(ctx, pod, known)
	}
	return p.live(ctx, pod, known)
}

func (p *pods) decide(ctx context.Context, pod *v1.Pod) *life {
	known := &life{pod: pod, decided: time.Now()}
	if result := p.kubelet.admit(ctx, pod); !result.Admit {
		known.rejected = true
		known.verdict = p.fleet.ledger.reject(p.kubelet, pod, result.Reason, result.Message)
	} else {
		known.verdict = p.fleet.ledger.admit(p.kubelet, pod)
	}
	return known
}

func (p *pods) tellRejection(ctx context.Context, pod *v1.Pod, known *life) error {
	if known.told {
		return nil
	}
	reason, message := known.verdict.Reason, known.verdict.Message
	if err := p.write(ctx, pod, rejectedStatus(reason, message)); err != nil {
		return err
	}
	known.told = true
	p.fleet.events.Eventf(pod, v1.EventTypeWarning, reason, "%s", message)
	return nil
}

// live lets an admitted pod run, and a Job's pod end.
func (p *pods) live(ctx context.Context, pod *v1.Pod, known *life) error {
	if known.started.IsZero() {
		if p.waits(pod, known.decided, waitOf(pod, startAfter, 0)) {
			return nil
		}
		now := metav1.Now()
		if pod.Status.Phase == v1.PodRunning && pod.Status.StartTime != nil {
			now = *pod.Status.StartTime // it ran under the program before this one
		}
		status := runningStatus(klog.FromContext(ctx), p.kubelet, pod, now)
		if err := p.write(ctx, pod, status); err != nil {
			return err
		}
		known.started = now.Time
	}
	if fresh := refreshedStatus(klog.FromContext(ctx), p.kubelet, pod); fresh != nil {
		if err := p.write(ctx, pod, fresh); err != nil {
			return err
		}
	}
	if !isJobs(pod) || p.waits(pod, known.started, waitOf(pod, runFor, time.Second)) {
		return nil
	}
	p.end(ctx, known)
	return p.write(ctx, pod, endedStatus(pod, exitCodeOf(pod)))
}

func isJobs(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Job" })
}

// waits asks for the pod to come again when the time is not yet up.
func (p *pods) waits(pod *v1.Pod, since time.Time, wait time.Duration) bool {
	left := time.Until(since.Add(wait))
	if left <= 0 {
		return false
	}
	p.queue.AddAfter(keyOf(pod), left)
	return true
}

// terminate: a kubelet first reports that the containers have ended, then
// deletes the pod for good. It frees what the pod held before it reports.
func (p *pods) terminate(ctx context.Context, pod *v1.Pod, known *life) error {
	if known == nil || known.rejected {
		return p.removeDeleted(ctx, pod) // it never ran
	}
	if known.leaving.IsZero() {
		known.leaving = time.Now()
	}
	if p.waits(pod, known.leaving, waitOf(pod, terminateFor, 0)) {
		return nil
	}
	p.end(ctx, known)
	if err := p.write(ctx, pod, endedStatus(pod, 143)); err != nil {
		return err
	}
	return p.removeDeleted(ctx, pod)
}

// end frees what a pod holds, if it holds anything.
func (p *pods) end(ctx context.Context, known *life) {
	if known != nil && !known.rejected && known.verdict.Released == 0 {
		p.kubelet.release(klog.FromContext(ctx), known.pod)
		p.fleet.ledger.release(known.verdict)
	}
}

// endAll: the node is gone, and with it all that was held on it.
func (p *pods) endAll(ctx context.Context) {
	for _, known := range p.known {
		p.end(ctx, known)
	}
}

func (p *pods) removeDeleted(ctx context.Context, pod *v1.Pod) error {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return p.fleet.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
}

func (p *pods) write(ctx context.Context, pod *v1.Pod, status *v1.PodStatus) error {
	_, err := p.fleet.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name,
		types.StrategicMergePatchType, statusPatch(pod, status), metav1.PatchOptions{}, "status")
	return err
}
