// kubelet-devices plays the kubelets of nodes with the label
// gpuqos.io/kubelet-devices=true, many nodes in one process. Which devices and
// CPUs a pod gets, and whether it is let in at all, kubelet's own device, CPU
// and topology managers decide. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

type options struct {
	settings
	kubeconfig string
	listen     string
	layoutFile string
	caFile     string
	caKeyFile  string
}

func parseOptions() *options {
	o := &options{}
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "who to be at the API server")
	flag.StringVar(&o.dir, "dir", "", "where each node has a folder like /var/lib/kubelet; short, for its sockets")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "serves /report and /healthz; written to DIR/address")
	flag.StringVar(&o.layoutFile, "layouts", "", "JSON file with the layouts of nodes by their names")
	flag.StringVar(&o.resource, "resource", "nvidia.com/gpu", "the resource that cards are offered as")
	flag.IntVar(&o.reserved, "reserved-cpus", 1, "CPUs of each node that no pod gets for itself")
	flag.StringVar(&o.caFile, "serving-ca-cert", "", "the CA that signs the kubelets' certificates (default: made now)")
	flag.StringVar(&o.caKeyFile, "serving-ca-key", "", "and its key")
	// klog's own flags: kubelet's managers tell much at -v=4.
	klog.InitFlags(nil)
	flag.Parse()
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parseOptions()); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet-devices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	f, err := newFleet(ctx, o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: f.handler(), ReadHeaderTimeout: headerTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := f.watch(ctx); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(f.dir, "address"), listener.Addr().String()+"\n"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func newFleet(ctx context.Context, o *options) (*fleet, error) {
	var err error
	if o.dir == "" {
		return nil, fmt.Errorf("-dir is missing")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // as many kubelets as there are nodes: one limit would be wrong
	f := &fleet{settings: o.settings, running: map[string]*host{}}
	if f.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if f.authority, err = newAuthority(o.caFile, o.caKeyFile, o.dir); err != nil {
		return nil, err
	}
	if o.layoutFile != "" {
		text, err := os.ReadFile(o.layoutFile)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &f.layouts); err != nil {
			return nil, fmt.Errorf("%s: %w", o.layoutFile, err)
		}
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: f.client.CoreV1().Events("")})
	f.events = broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet"})
	return f, nil
}

// writeWhole: who sees the file sees all of it.
func writeWhole(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o640); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
