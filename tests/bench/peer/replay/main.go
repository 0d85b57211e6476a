// The replay server: lists and watches as an API server answers them, of a crowd made from a recording
// (package crowd), over TLS and HTTP/2, at a rate that is told. What a controller writes is kept, shown
// on its watches, and counted. There are no rights and no validation.
//
// In the folder of --dir it leaves `kubeconfig` and `control`, the address of a plain HTTP server by
// which a benchmark steers it (control.go).
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"gpuqos.io/tests/bench/peer/crowd"
)

type server struct {
	crowd *crowd.Crowd
	pods  *stream
	nodes *stream
	store *store
	gate  *gate
}

func newServer(options crowd.Options, quotas, held bool) (*server, error) {
	c, err := crowd.New(options)
	if err != nil {
		return nil, err
	}
	s := &server{crowd: c, store: newStore(), gate: newGate(held)}
	s.pods = newStream("Pod", options.Pods, c.PodFrame, s.gate)
	s.nodes = newStream("Node", options.Nodes, c.NodeFrame, newGate(false))
	for n := range options.Namespaces {
		s.store.seedNamespace(crowd.Namespace(n), quotas)
	}
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, ok := parsePath(r.URL.Path)
	switch {
	case !ok:
		http.Error(w, "ok", http.StatusOK) // /healthz, /version: what pings ask for
	case r.Method == http.MethodGet && at.resource == "pods" && at.name == "" && isWatch(r):
		s.pods.watch(w, r)
	case r.Method == http.MethodGet && at.resource == "pods" && at.name == "":
		s.pods.list(w, r, s.crowd)
	case r.Method == http.MethodGet && at.resource == "nodes" && at.name == "" && isWatch(r):
		s.nodes.watch(w, r)
	default:
		s.store.serve(w, r, at)
	}
}

func run() error {
	var options crowd.Options
	flag.StringVar(&options.Folder, "recording", "", "folder of the recording")
	flag.IntVar(&options.Pods, "pods", 0, "how many pods there are")
	flag.IntVar(&options.Nodes, "nodes", 100, "how many nodes")
	flag.IntVar(&options.Namespaces, "namespaces", 100, "how many namespaces the pods are in")
	flag.StringVar(&options.Kind, "kind", "", "all pods are of this kind")
	flag.IntVar(&options.PodBytes, "pod-bytes", 0, "pods are filled up to this size")
	dir := flag.String("dir", "", "where kubeconfig and control go")
	quotas := flag.Bool("quotas", false, "a GpuMemoryQuota in each namespace")
	held := flag.Bool("hold", false, "pods come only after /release")
	flag.Parse()

	s, err := newServer(options, *quotas, *held)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config, authority, err := makeTLS()
	if err != nil {
		return err
	}
	if err := writeKubeconfig(filepath.Join(*dir, "kubeconfig"), listener.Addr().String(), authority); err != nil {
		return err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { log.Fatal(http.Serve(control, s.control())) }()
	if err := os.WriteFile(filepath.Join(*dir, "control.new"), []byte(control.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(*dir, "control.new"), filepath.Join(*dir, "control")); err != nil {
		return err
	}
	web := &http.Server{Handler: s, TLSConfig: config}
	return web.ServeTLS(listener, "", "")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}
