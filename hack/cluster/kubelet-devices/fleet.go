package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// nodeLabel marks the nodes that are ours; kwok leaves them alone, see ../kwok.
const nodeLabel = "gpuqos.io/kubelet-devices"

const podsOfNode = "node"

// settings are the same for all nodes.
type settings struct {
	dir      string
	resource string
	reserved int
	layouts  map[string]json.RawMessage // by node name
}

// fleet keeps a kubelet for every node that is ours and has a layout.
type fleet struct {
	settings
	client    kubernetes.Interface
	events    record.EventRecorder
	authority *authority
	ledger    ledger

	podIndex cache.Indexer
	nodes    corelisters.NodeLister

	mutex   sync.Mutex
	running map[string]*host
}

// watch follows nodes and pods until the context ends. Pods come first: a
// kubelet starts with those that are bound to its node already.
func (f *fleet) watch(ctx context.Context) error {
	podFactory := informers.NewSharedInformerFactoryWithOptions(f.client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))
	podInformer := podFactory.Core().V1().Pods().Informer()
	err := podInformer.AddIndexers(cache.Indexers{podsOfNode: func(object any) ([]string, error) {
		return []string{object.(*v1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return err
	}
	f.podIndex = podInformer.GetIndexer()
	if _, err := podInformer.AddEventHandler(onAny(f.podChanged)); err != nil {
		return err
	}
	nodeFactory := informers.NewSharedInformerFactoryWithOptions(f.client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = nodeLabel + "=true" }))
	f.nodes = nodeFactory.Core().V1().Nodes().Lister()
	nodeInformer := nodeFactory.Core().V1().Nodes().Informer()
	changed := func(node *v1.Node) { f.nodeChanged(ctx, node.Name) }
	if _, err := nodeInformer.AddEventHandler(onAny(changed)); err != nil {
		return err
	}
	podFactory.Start(ctx.Done())
	podFactory.WaitForCacheSync(ctx.Done())
	nodeFactory.Start(ctx.Done())
	nodeFactory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

// onAny calls one function whatever happens to an object.
func onAny[T any](call func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { call(object.(T)) },
		UpdateFunc: func(_, object any) { call(object.(T)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			call(object.(T))
		},
	}
}

// pod is the one of this name as last seen, or nil.
func (f *fleet) pod(key types.NamespacedName) *v1.Pod {
	object, exists, err := f.podIndex.GetByKey(key.String())
	if err != nil || !exists {
		return nil
	}
	return object.(*v1.Pod)
}

func (f *fleet) podChanged(pod *v1.Pod) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if h := f.running[pod.Spec.NodeName]; h != nil {
		h.pods.queue.Add(keyOf(pod))
	}
}

// nodeChanged starts, updates or stops a node's kubelet. Only the informer's
// own goroutine calls it, one event after the other.
func (f *fleet) nodeChanged(ctx context.Context, name string) {
	logger := klog.FromContext(ctx)
	node, err := f.nodes.Get(name)
	f.mutex.Lock()
	h := f.running[name]
	f.mutex.Unlock()
	if h != nil && (err != nil || node.UID != h.uid) {
		f.stopHost(ctx, h)
		h = nil
	}
	if err != nil {
		return
	}
	l, err := layoutOf(node, f.layouts)
	if err != nil {
		logger.Error(err, "no kubelet for this node", "node", name)
		return
	}
	switch {
	case l == nil:
		logger.Info("no kubelet for this node: it has no layout", "node", name)
	case h == nil:
		if err := f.startHost(ctx, node, l); err != nil {
			logger.Error(err, "no kubelet for this node", "node", name)
		}
	case !h.kubelet.layout.isSameMachine(l):
		logger.Info("a kubelet's machine does not change; delete the node for another", "node", name)
	default:
		h.setHealth(ctx, l)
	}
}

func (f *fleet) startHost(ctx context.Context, node *v1.Node, l *layout) error {
	dir := filepath.Join(f.dir, node.Name)
	k, err := newKubelet(ctx, &kubelet{name: node.Name, dir: dir, layout: l,
		resource: f.resource, reserved: f.reserved},
		func(context.Context, bool) (*v1.Node, error) {
			node, err := f.nodes.Get(node.Name)
			return node.DeepCopy(), err
		})
	if err != nil {
		return fmt.Errorf("kubelet of %s: %w", node.Name, err)
	}
	h := &host{uid: node.UID, kubelet: k, pods: newPods(k, f), client: f.client}
	h.latest.Store(l)
	if err := h.serve(ctx, f.authority); err != nil {
		return fmt.Errorf("servers of %s: %w", node.Name, err)
	}
	// From here on events reach the queue; what was bound before is in the index.
	f.mutex.Lock()
	f.running[node.Name] = h
	f.mutex.Unlock()
	bound, err := f.podIndex.ByIndex(podsOfNode, node.Name)
	if err != nil {
		return err
	}
	var before []*v1.Pod
	for _, object := range bound {
		before = append(before, object.(*v1.Pod))
	}
	h.start(ctx, before)
	return nil
}

// stopHost also forgets the checkpoints: a node of this name that comes later
// is another machine.
func (f *fleet) stopHost(ctx context.Context, h *host) {
	f.mutex.Lock()
	delete(f.running, h.kubelet.name)
	f.mutex.Unlock()
	h.stop(ctx)
	if err := os.RemoveAll(h.kubelet.dir); err != nil {
		klog.FromContext(ctx).Error(err, "checkpoints", "node", h.kubelet.name)
	}
}

// hosts are those that run now.
func (f *fleet) hosts() []*host {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := make([]*host, 0, len(f.running))
	for _, h := range f.running {
		all = append(all, h)
	}
	return all
}
