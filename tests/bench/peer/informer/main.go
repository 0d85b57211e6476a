// The informer of client-go as most controllers in Go use it: shared, pods of all namespaces, protobuf,
// indexed by namespace. It says on its standard output what it holds, so that whoever measures it knows
// when to look; what it costs is read from outside.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "of the replay server")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := typed.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()

	// A controller's handler does at least this much: it looks at the key.
	var events, bytes atomic.Int64
	note := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			events.Add(1)
			bytes.Add(int64(len(pod.Namespace) + len(pod.Name)))
		}
	}
	source := cache.NewListWatchFromClient(client.RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    note,
		UpdateFunc: func(_, object any) { note(object) },
		DeleteFunc: note,
	}); err != nil {
		return err
	}
	fmt.Println("started")
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	fmt.Printf("synced %d\n", len(informer.GetStore().ListKeys()))

	// On SIGUSR1 it tells how many events its handler has seen.
	ask := make(chan os.Signal, 1)
	signal.Notify(ask, syscall.SIGUSR1)
	for {
		select {
		case <-ask:
			fmt.Printf("events %d\n", events.Load())
		case <-ctx.Done():
			time.Sleep(10 * time.Millisecond)
			return nil
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}
