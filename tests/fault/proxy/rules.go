/* SPDX-License-Identifier: Apache-2.0 */

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// rule says which requests go wrong, and how. The first rule that matches and has turns left acts.
type rule struct {
	Method string `json:"method,omitempty"` // "" for any; "WRITE" for POST, PUT, PATCH and DELETE
	Path   string `json:"path,omitempty"`   // regular expression over path?query
	Skip   int    `json:"skip,omitempty"`   // let so many pass first
	Count  int    `json:"count,omitempty"`  // then act so many times; 0 for ever

	// One of:
	//   status       answer Status without asking the server
	//   cut          break the stream before (Bytes 0) or after so many bytes of the answer
	//   truncate     end the answer cleanly after Bytes bytes
	//   delay        wait DelayMs, then pass on
	//   hang         never answer, until the client gives up or the rules change; then break off
	//   lose-answer  pass on, then break the stream: the write happened, nobody heard
	//   stale        answer what the first request of this kind was answered
	//   expire       pass a watch on until Bytes bytes went by, then send an ERROR event with Status (410 if none) and end
	//   kill-before  SIGKILL to Pid instead of passing on
	//   kill-after   pass on, then SIGKILL to Pid before it hears the answer
	Action     string `json:"action"`
	Status     int    `json:"status,omitempty"`
	RetryAfter int    `json:"retryAfter,omitempty"`
	Bytes      int    `json:"bytes,omitempty"`
	DelayMs    int    `json:"delayMs,omitempty"`
	Pid        int    `json:"pid,omitempty"`

	Matched int `json:"matched"`
	Acted   int `json:"acted"`
	path    *regexp.Regexp
}

type write struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// faults is the handler in front of the reverse proxy.
type faults struct {
	inner http.Handler
	mu    sync.Mutex
	rules []*rule
	until chan struct{} // closed when the rules change
	seen  []write
	first map[string]*httptest.ResponseRecorder // per path, for stale
}

type action func(f *faults, r *rule, w http.ResponseWriter, req *http.Request)

var actions = map[string]action{
	"status": answerStatus,
	"cut": func(f *faults, r *rule, w http.ResponseWriter, q *http.Request) {
		f.inner.ServeHTTP(&limited{w, r.Bytes, true}, q)
	},
	"truncate":    truncate,
	"delay":       delay,
	"hang":        hang,
	"lose-answer": loseAnswer,
	"stale":       stale,
	"expire":      expire,
	"kill-before": func(_ *faults, r *rule, _ http.ResponseWriter, _ *http.Request) { kill(r.Pid) },
	"kill-after":  func(f *faults, r *rule, _ http.ResponseWriter, q *http.Request) { f.perform(whole(q)); kill(r.Pid) },
}

func newFaults(inner http.Handler) *faults {
	return &faults{inner: inner, until: make(chan struct{}), first: map[string]*httptest.ResponseRecorder{}}
}

func (f *faults) set(rules []*rule) error {
	for _, r := range rules {
		if actions[r.Action] == nil {
			return fmt.Errorf("unknown action %q", r.Action)
		}
		path, err := regexp.Compile(r.Path)
		if err != nil {
			return err
		}
		r.path, r.Matched, r.Acted = path, 0, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.seen, f.first = rules, nil, map[string]*httptest.ResponseRecorder{}
	close(f.until)
	f.until = make(chan struct{})
	return nil
}

func (f *faults) state() []rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]rule, len(f.rules))
	for i, r := range f.rules {
		out[i] = *r
	}
	return out
}

func (f *faults) writes() []write {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]write{}, f.seen...)
}

func isWrite(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE"
}

func (f *faults) match(req *http.Request) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		method := r.Method == "" || r.Method == req.Method || r.Method == "WRITE" && isWrite(req.Method)
		if !method || !r.path.MatchString(req.URL.RequestURI()) {
			continue
		}
		r.Matched++
		if r.Matched <= r.Skip || r.Count > 0 && r.Acted >= r.Count {
			continue
		}
		r.Acted++
		return r
	}
	return nil
}

func (f *faults) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r := f.match(req); r != nil {
		actions[r.Action](f, r, w, req)
		return
	}
	if !isWrite(req.Method) {
		f.inner.ServeHTTP(w, req)
		return
	}
	replay(w, f.perform(req))
}

// perform passes a request on and keeps its whole answer; the write is recorded.
func (f *faults) perform(req *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	f.inner.ServeHTTP(answer, req)
	f.mu.Lock()
	defer f.mu.Unlock()
	if isWrite(req.Method) {
		f.seen = append(f.seen, write{req.Method, req.URL.Path, answer.Code})
	}
	return answer
}

func replay(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Result().Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

func (f *faults) changed() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until
}

func hang(f *faults, _ *rule, _ http.ResponseWriter, req *http.Request) {
	// Only who reads the body notices that the client has gone.
	io.Copy(io.Discard, req.Body)
	select {
	case <-f.changed():
	case <-req.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

var reasons = map[int]string{
	400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
	429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}

func answerStatus(_ *faults, r *rule, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.RetryAfter))
	}
	w.WriteHeader(r.Status)
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": r.Status,
		"reason": reasons[r.Status], "message": "injected by the fault proxy",
	})
}

func truncate(f *faults, r *rule, w http.ResponseWriter, req *http.Request) {
	defer func() {
		if got := recover(); got != nil && got != http.ErrAbortHandler {
			panic(got)
		}
	}()
	f.inner.ServeHTTP(&limited{w, r.Bytes, true}, req)
}

func delay(f *faults, r *rule, w http.ResponseWriter, req *http.Request) {
	// Read now: the client may give up meanwhile, and only a reader is told.
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	timer := time.NewTimer(time.Duration(r.DelayMs) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		f.inner.ServeHTTP(w, req)
	case <-req.Context().Done():
	}
}

// whole is the request even if its client gives up meanwhile: what is to go wrong comes after it.
func whole(req *http.Request) *http.Request {
	return req.WithContext(context.WithoutCancel(req.Context()))
}

func loseAnswer(f *faults, _ *rule, _ http.ResponseWriter, req *http.Request) {
	f.perform(whole(req))
	panic(http.ErrAbortHandler)
}

func stale(f *faults, _ *rule, w http.ResponseWriter, req *http.Request) {
	key := req.Method + req.URL.Path + req.Header.Get("Accept")
	f.mu.Lock()
	answer := f.first[key]
	f.mu.Unlock()
	if answer == nil {
		answer = f.perform(req)
		f.mu.Lock()
		f.first[key] = answer
		f.mu.Unlock()
	}
	replay(w, answer)
}

func kill(pid int) {
	if pid > 1 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	panic(http.ErrAbortHandler)
}

// limited lets so many bytes of the answer through and then breaks off.
type limited struct {
	http.ResponseWriter
	left  int
	abort bool
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) < l.left {
		l.left -= len(p)
		return l.ResponseWriter.Write(p)
	}
	if l.left > 0 {
		l.ResponseWriter.Write(p[:l.left])
		l.left = 0
	}
	l.Flush()
	panic(http.ErrAbortHandler)
}

func (l *limited) WriteHeader(code int) {
	l.Header().Del("Content-Length")
	l.ResponseWriter.WriteHeader(code)
}

func (l *limited) Flush() {
	if flusher, ok := l.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

// expire lets a watch run for so many bytes (to the end of a frame) and then says 410, or another status, in the stream's own encoding.
func expire(f *faults, r *rule, w http.ResponseWriter, req *http.Request) {
	defer func() {
		if got := recover(); got != nil && got != http.ErrAbortHandler {
			panic(got)
		}
	}()
	status := r.Status
	if status == 0 {
		status = 410
	}
	f.inner.ServeHTTP(&expiring{ResponseWriter: w, after: r.Bytes, status: status}, req)
}

type expiring struct {
	http.ResponseWriter
	after, sent, status int
	held                bytes.Buffer // an incomplete frame
}

func (e *expiring) protobuf() bool {
	return bytes.Contains([]byte(e.Header().Get("Content-Type")), []byte("protobuf"))
}

// frame is the length of the first whole frame held, 0 for none.
func (e *expiring) frame() int {
	held := e.held.Bytes()
	if !e.protobuf() {
		return bytes.IndexByte(held, '\n') + 1
	}
	if len(held) < 4 {
		return 0
	}
	size := 4 + (int(held[0])<<24 | int(held[1])<<16 | int(held[2])<<8 | int(held[3]))
	if len(held) < size {
		return 0
	}
	return size
}

func (e *expiring) Write(p []byte) (int, error) {
	e.held.Write(p)
	for size := e.frame(); size > 0; size = e.frame() {
		n, err := e.ResponseWriter.Write(e.held.Next(size))
		if err != nil {
			return 0, err
		}
		if e.sent += n; e.sent >= e.after {
			io.Copy(e.ResponseWriter, bytes.NewReader(errorEvent(e.status, e.protobuf())))
			e.Flush()
			panic(http.ErrAbortHandler)
		}
	}
	return len(p), nil
}

func (e *expiring) Flush() {
	if flusher, ok := e.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

// errorEvent is a watch event of type ERROR with a Status, written by hand: five fields need no library.
func errorEvent(code int, protobuf bool) []byte {
	if !protobuf {
		return []byte(fmt.Sprintf(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"injected by the fault proxy","reason":%q,"code":%d}}`+"\n", reasons[code], code))
	}
	status := join(field(2, "Failure"), field(3, "injected by the fault proxy"), field(4, reasons[code]),
		binary.AppendUvarint([]byte{6 << 3}, uint64(code)))
	event := join(field(1, "ERROR"), field(2, string(field(1, string(envelope("Status", status))))))
	framed := envelope("WatchEvent", event)
	return append([]byte{byte(len(framed) >> 24), byte(len(framed) >> 16), byte(len(framed) >> 8), byte(len(framed))}, framed...)
}

func envelope(kind string, raw []byte) []byte {
	return append([]byte("k8s\x00"), join(field(1, string(join(field(1, "v1"), field(2, kind)))), field(2, string(raw)))...)
}

func field(tag int, value string) []byte {
	out := []byte{byte(tag<<3 | 2)}
	for n := len(value); ; n >>= 7 {
		if n < 0x80 {
			return append(append(out, byte(n)), value...)
		}
		out = append(out, byte(n)|0x80)
	}
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
