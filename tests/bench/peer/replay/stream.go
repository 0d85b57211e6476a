package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gpuqos.io/tests/bench/peer/crowd"
	"gpuqos.io/tests/bench/peer/frames"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// listVersion is the resourceVersion of what there is at the start; later events are younger.
const listVersion = 1_000_000

// encodedAtMost objects are encoded before anybody asks, others when they are sent.
const encodedAtMost = 20_000

// gate lets streams through once it is open.
type gate struct {
	once sync.Once
	done chan struct{}
}

func newGate(held bool) *gate {
	g := &gate{done: make(chan struct{})}
	if !held {
		g.open()
	}
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.done) }) }

// stream is the watch of a resource whose objects a crowd makes.
type stream struct {
	kind  string
	count int
	frame func(verb string, i int, version string) ([]byte, error)
	gate  *gate
	ready [][]byte

	mutex    sync.Mutex
	watchers map[chan []byte]bool
	// sent counts the bytes and events that were handed to a connection; listed the complete states.
	sentBytes, sentEvents, listed atomic.Int64
}

func newStream(kind string, count int, frame func(string, int, string) ([]byte, error), gate *gate) *stream {
	s := &stream{kind: kind, count: count, frame: frame, gate: gate, watchers: map[chan []byte]bool{}}
	if count <= encodedAtMost {
		for i := range count {
			s.ready = append(s.ready, s.initial(i))
		}
	}
	return s
}

// initial is the i-th event of a new watch.
func (s *stream) initial(i int) []byte {
	if i < len(s.ready) {
		return s.ready[i]
	}
	data, err := s.frame("ADDED", i, strconv.Itoa(1000+i))
	if err != nil {
		panic(err)
	}
	return data
}

func isWatch(r *http.Request) bool {
	return r.URL.Query().Get("watch") == "1" || r.URL.Query().Get("watch") == "true"
}

func (s *stream) subscribe() chan []byte {
	events := make(chan []byte, 4096)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.watchers[events] = true
	return events
}

func (s *stream) unsubscribe(events chan []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.watchers, events)
}

// publish hands an event to all watches; it waits where one is slow.
func (s *stream) publish(frame []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for events := range s.watchers {
		events <- frame
	}
}

func (s *stream) watching() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.watchers)
}

func watchTimeout(r *http.Request) <-chan time.Time {
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		return nil
	}
	return time.After(time.Duration(seconds) * time.Second)
}

// watch serves one watch, with initial events where they are asked for.
func (s *stream) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", protobuf+";stream=watch")
	http.NewResponseController(w).Flush()
	select {
	case <-s.gate.done:
	case <-r.Context().Done():
		return
	}
	events := s.subscribe()
	defer s.unsubscribe(events)
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		if err := s.sendInitial(w); err != nil {
			return
		}
	}
	s.sendEvents(w, r, events)
}

// list answers a list in one piece, as the API server does from its cache when asked for version 0.
func (s *stream) list(w http.ResponseWriter, r *http.Request, c *crowd.Crowd) {
	list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(listVersion)}}
	for i := range s.count {
		list.Items = append(list.Items, *c.Pod(i, strconv.Itoa(1000+i)))
	}
	data, err := frames.Object("v1", "PodList", &list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	select {
	case <-s.gate.done:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", protobuf)
	if _, err := w.Write(data); err == nil {
		s.sentBytes.Add(int64(len(data)))
		s.listed.Add(1)
	}
}

func (s *stream) sendInitial(w http.ResponseWriter) error {
	for i := range s.count {
		frame := s.initial(i)
		if _, err := w.Write(frame); err != nil {
			return err
		}
		s.sentBytes.Add(int64(len(frame)))
	}
	mark, err := crowd.Bookmark(s.kind, fmt.Sprint(listVersion))
	if err != nil {
		return err
	}
	if _, err := w.Write(mark); err != nil {
		return err
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	s.sentBytes.Add(int64(len(mark)))
	s.listed.Add(1)
	return nil
}

// sendEvents flushes whenever no event waits, so that a rate that is kept sends each alone.
func (s *stream) sendEvents(w http.ResponseWriter, r *http.Request, events chan []byte) {
	flush := http.NewResponseController(w).Flush
	timeout := watchTimeout(r)
	for {
		select {
		case frame := <-events:
			if _, err := w.Write(frame); err != nil {
				return
			}
			if len(events) == 0 && flush() != nil {
				return
			}
			s.sentBytes.Add(int64(len(frame)))
			s.sentEvents.Add(1)
		case <-timeout:
			return
		case <-r.Context().Done():
			return
		}
	}
}
