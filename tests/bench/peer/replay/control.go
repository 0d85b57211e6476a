package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// versionBase makes the resourceVersion of a pumped event 16 digits long: versionBase plus the
// microseconds of CLOCK_MONOTONIC at which it was sent, so that a receiver on the same machine knows
// how long it was under way.
const versionBase = 1_000_000_000_000_000

const placeholder = "1000000000000000"

// control is how a benchmark steers the server:
//
//	/release  pods that were held back begin to be sent
//	/pump?mode=M&count=N&rate=R&bytes=B
//	          sends N events of pods, R a second (0: as fast as they are read), and answers when all
//	          are sent. touch: MODIFIED, the pod as it was; churn: DELETED, then ADDED again. Pods
//	          are filled up to B bytes, 0: as recorded
//	/ceiling?gpuMemory=Q
//	          the TenantQoS that has all namespaces gets this ceiling
//	/stats    counters as JSON
func (s *server) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/release", func(w http.ResponseWriter, r *http.Request) { s.gate.open() })
	mux.HandleFunc("/pump", s.pump)
	mux.HandleFunc("/ceiling", func(w http.ResponseWriter, r *http.Request) {
		s.store.setCeiling(r.URL.Query().Get("gpuMemory"))
	})
	mux.HandleFunc("/stats", func(w http.ResponseWriter, r *http.Request) {
		s.store.mutex.Lock()
		defer s.store.mutex.Unlock()
		json.NewEncoder(w).Encode(map[string]any{
			"pods":     counters(s.pods),
			"nodes":    counters(s.nodes),
			"writes":   s.store.writes,
			"watchers": len(s.store.watchers),
		})
	})
	return mux
}

func counters(s *stream) map[string]int64 {
	return map[string]int64{"bytes": s.sentBytes.Load(), "events": s.sentEvents.Load(),
		"listed": s.listed.Load(), "watching": int64(s.watching())}
}

// monotonic reads CLOCK_MONOTONIC, which the standard library does not show.
func monotonic() int64 {
	const clockMonotonic = 1
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Sec*1_000_000 + at.Nsec/1000
}

// shot is an event that needs only its version.
type shot struct {
	frame []byte
	at    int // of the version in the frame
}

const shots = 2000

// load encodes the events of a pump, as many as there are pods or `shots`.
func (s *server) load(mode string, size int) ([]shot, error) {
	var loaded []shot
	filled := *s.crowd
	filled.PodBytes = size
	verbs := map[string][]string{"touch": {"MODIFIED"}, "churn": {"DELETED", "ADDED"}}[mode]
	if verbs == nil {
		return nil, fmt.Errorf("no mode %q", mode)
	}
	for i := range min(shots/len(verbs), s.crowd.Pods) {
		// Pods from all over the crowd.
		pod := i * max(1, s.crowd.Pods/shots)
		for _, verb := range verbs {
			frame, err := filled.PodFrame(verb, pod, placeholder)
			if err != nil {
				return nil, err
			}
			loaded = append(loaded, shot{frame, bytes.Index(frame, []byte(placeholder))})
		}
	}
	return loaded, nil
}

var lastVersion atomic.Int64

// fire is a copy of the event as of now.
func (p *shot) fire() []byte {
	frame := bytes.Clone(p.frame)
	version := max(versionBase+monotonic(), lastVersion.Load()+1)
	lastVersion.Store(version)
	copy(frame[p.at:], strconv.FormatInt(version, 10))
	return frame
}

func (s *server) pump(w http.ResponseWriter, r *http.Request) {
	var size, count int
	var rate float64
	query := r.URL.Query()
	text := query.Get("bytes") + " " + query.Get("count") + " " + query.Get("rate")
	if _, err := fmt.Sscan(text, &size, &count, &rate); err != nil {
		http.Error(w, "bytes, count and rate are numbers", http.StatusBadRequest)
		return
	}
	loaded, err := s.load(query.Get("mode"), size)
	if err != nil || len(loaded) == 0 {
		http.Error(w, fmt.Sprint("nothing to send: ", err), http.StatusBadRequest)
		return
	}
	begin, before := time.Now(), s.pods.sentEvents.Load()
	for n := range count {
		if rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))))
		}
		s.pods.publish(loaded[n%len(loaded)].fire())
	}
	for s.pods.watching() > 0 && s.pods.sentEvents.Load() < before+int64(count) {
		time.Sleep(time.Millisecond)
	}
	json.NewEncoder(w).Encode(map[string]any{"events": count, "seconds": time.Since(begin).Seconds(),
		"bytes": len(loaded[0].frame)})
}
