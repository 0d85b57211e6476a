package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
)

// report is what GET /report answers.
type report struct {
	Nodes map[string]nodeReport `json:"nodes"`
	Pods  []entry               `json:"pods"`
}

type nodeReport struct {
	Layout       *layout `json:"layout"`
	Port         int32   `json:"port"`
	PodResources string  `json:"podResources"`
}

func (f *fleet) report() report {
	r := report{Nodes: map[string]nodeReport{}, Pods: f.ledger.copies()}
	for _, h := range f.hosts() {
		r.Nodes[h.kubelet.name] = nodeReport{Layout: h.latest.Load(), Port: h.port,
			PodResources: filepath.Join(h.kubelet.dir, "pod-resources", "kubelet.sock")}
	}
	return r
}

func (f *fleet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// Only a lost connection makes it fail, and then nobody reads on.
		_ = json.NewEncoder(w).Encode(f.report())
	})
	return mux
}
