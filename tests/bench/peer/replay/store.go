package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"gpuqos.io/tests/bench/peer/frames"
)

// address is what a path of the API names.
type address struct {
	group, version, namespace, resource, name, subresource string
}

func parsePath(path string) (address, bool) {
	var at address
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		at.version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		at.group, at.version, parts = parts[1], parts[2], parts[3:]
	default:
		return at, false
	}
	if len(parts) >= 3 && parts[0] == "namespaces" {
		at.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	at.resource, at.name, at.subresource = parts[0], parts[1], parts[2]
	return at, true
}

// kinds are the resources of the store; those without a maker travel as JSON only.
var kinds = map[string]struct {
	apiVersion, kind string
	make             func() frames.Message
}{
	"namespaces":      {"v1", "Namespace", func() frames.Message { return &corev1.Namespace{} }},
	"resourcequotas":  {"v1", "ResourceQuota", func() frames.Message { return &corev1.ResourceQuota{} }},
	"limitranges":     {"v1", "LimitRange", func() frames.Message { return &corev1.LimitRange{} }},
	"leases":          {"coordination.k8s.io/v1", "Lease", func() frames.Message { return &coordinationv1.Lease{} }},
	"gpumemoryquotas": {"gpuqos.io/v1alpha1", "GpuMemoryQuota", nil},
	"tenantqos":       {"gpuqos.io/v1alpha1", "TenantQoS", nil},
	"events":          {"events.k8s.io/v1", "Event", nil},
	"validatingadmissionpolicybindings": {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
		func() frames.Message { return &admissionv1.ValidatingAdmissionPolicyBinding{} }},
}

type object = map[string]any

// store keeps objects as JSON, by resource and namespace/name, and counts what is written.
type store struct {
	mutex    sync.Mutex
	version  int64
	objects  map[string]map[string]object
	watchers map[chan change]string // resource
	writes   map[string]int         // "PATCH resourcequotas"
}

type change struct {
	verb string
	item object
}

func newStore() *store {
	s := &store{version: listVersion, objects: map[string]map[string]object{},
		watchers: map[chan change]string{}, writes: map[string]int{}}
	for resource := range kinds {
		s.objects[resource] = map[string]object{}
	}
	return s
}

func (s *store) seedNamespace(name string, quota bool) {
	at := address{resource: "namespaces", name: name}
	s.put(at, object{"metadata": object{"labels": object{"kubernetes.io/metadata.name": name, "team": "all",
		"gpuqos.io/managed": "true"}},
		"status": object{"phase": "Active"}})
	if quota {
		s.put(address{namespace: name, resource: "gpumemoryquotas", name: "team"},
			object{"spec": object{"gpuMemory": "64Ti"}, "metadata": object{"generation": 1}})
	}
}

// setCeiling makes the TenantQoS that has all namespaces, or changes its ceiling.
func (s *store) setCeiling(gpuMemory string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	spec := object{"tier": "Training", "ceiling": object{"gpuMemory": gpuMemory},
		"namespaceSelector": object{"matchLabels": object{"team": "all"}}}
	old := s.objects["tenantqos"]["/all"]
	meta := object{"generation": float64(s.version)}
	s.put(address{resource: "tenantqos", name: "all"}, merged(old, object{"spec": spec, "metadata": meta}))
}

// child is the object at a key, as a copy that may be changed: what was sent once is never changed.
func child(item object, key string) object {
	found, _ := item[key].(object)
	found = maps.Clone(found)
	if found == nil {
		found = object{}
	}
	item[key] = found
	return found
}

// put gives an object what the API server gives it. The caller holds the lock, or is alone.
func (s *store) put(at address, item object) object {
	kind := kinds[at.resource]
	key := at.namespace + "/" + at.name
	verb := "MODIFIED"
	item["apiVersion"], item["kind"] = kind.apiVersion, kind.kind
	meta := child(item, "metadata")
	meta["name"] = at.name
	if at.namespace != "" {
		meta["namespace"] = at.namespace
	}
	if s.objects[at.resource][key] == nil {
		verb = "ADDED"
		meta["uid"] = fmt.Sprintf("00000000-0000-4000-a000-%012x", s.version)
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	s.version++
	meta["resourceVersion"] = strconv.FormatInt(s.version, 10)
	if at.resource == "resourcequotas" {
		// The quota controller's part, here without its delay.
		status := child(item, "status")
		status["hard"], status["used"] = child(item, "spec")["hard"], object{}
	}
	s.objects[at.resource][key] = item
	s.tell(at.resource, change{verb, item})
	return item
}

func (s *store) tell(resource string, what change) {
	for events, wanted := range s.watchers {
		if wanted == resource {
			events <- what
		}
	}
}

// merged lays over upon under; lists are replaced, null removes.
func merged(under, over object) object {
	result := object{}
	for key, value := range under {
		result[key] = value
	}
	for key, value := range over {
		inner, isObject := value.(object)
		below, wasObject := result[key].(object)
		switch {
		case value == nil:
			delete(result, key)
		case isObject && wasObject:
			result[key] = merged(below, inner)
		default:
			result[key] = value
		}
	}
	return result
}

func (s *store) serve(w http.ResponseWriter, r *http.Request, at address) {
	if _, known := kinds[at.resource]; !known {
		fail(w, http.StatusNotFound, "NotFound", "the replay server does not know "+at.resource)
		return
	}
	switch {
	case r.Method != http.MethodGet:
		s.write(w, r, at)
	case at.name != "":
		s.get(w, r, at)
	case isWatch(r):
		s.watch(w, r, at)
	default:
		fail(w, http.StatusBadRequest, "BadRequest", "lists are streamed here: ask with sendInitialEvents")
	}
}

func fail(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(object{"kind": "Status", "apiVersion": "v1", "status": "Failure",
		"message": message, "reason": reason, "code": status})
}

func (s *store) write(w http.ResponseWriter, r *http.Request, at address) {
	var body object
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	what := r.Method + " " + at.resource
	if at.subresource != "" {
		what += "/" + at.subresource
	}
	s.writes[what]++
	key := at.namespace + "/" + at.name
	old := s.objects[at.resource][key]
	switch r.Method {
	case http.MethodDelete:
		delete(s.objects[at.resource], key)
		if old != nil {
			s.tell(at.resource, change{"DELETED", old})
		}
		body = object{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	case http.MethodPost:
		at.name, _ = child(body, "metadata")["name"].(string)
		body = s.put(at, body)
	case http.MethodPatch:
		body = s.put(at, merged(old, body))
	case http.MethodPut:
		body = s.put(at, merged(object{"metadata": old["metadata"]}, body))
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}

func wantsProtobuf(r *http.Request, at address) bool {
	return kinds[at.resource].make != nil && strings.Contains(r.Header.Get("Accept"), protobuf)
}

// encode turns an object into the bytes of its kind.
func encode(at address, item object) ([]byte, error) {
	kind := kinds[at.resource]
	text, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	typed := kind.make()
	if err := json.Unmarshal(text, typed); err != nil {
		return nil, err
	}
	return frames.Object(kind.apiVersion, kind.kind, typed)
}

func (s *store) get(w http.ResponseWriter, r *http.Request, at address) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	item := s.objects[at.resource][at.namespace+"/"+at.name]
	if item == nil {
		fail(w, http.StatusNotFound, "NotFound", at.name+" not found")
		return
	}
	if !wantsProtobuf(r, at) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(item)
		return
	}
	data, err := encode(at, item)
	if err != nil {
		fail(w, http.StatusInternalServerError, "InternalError", err.Error())
		return
	}
	w.Header().Set("Content-Type", protobuf)
	w.Write(data)
}

// event is a change as it travels.
func event(at address, asProtobuf bool, what change) ([]byte, error) {
	if !asProtobuf {
		data, err := json.Marshal(object{"type": what.verb, "object": what.item})
		return append(data, '\n'), err
	}
	data, err := encode(at, what.item)
	if err != nil {
		return nil, err
	}
	return frames.Event(what.verb, data)
}

// subscribe takes what there is, and all changes after that.
func (s *store) subscribe(at address, withInitial bool) ([]change, chan change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var initial []change
	if withInitial {
		keys := slices.Sorted(maps.Keys(s.objects[at.resource]))
		for _, key := range keys {
			initial = append(initial, change{"ADDED", s.objects[at.resource][key]})
		}
		initial = append(initial, s.bookmark(at))
	}
	events := make(chan change, 65536)
	s.watchers[events] = at.resource
	return initial, events
}

func (s *store) bookmark(at address) change {
	kind := kinds[at.resource]
	return change{"BOOKMARK", object{"apiVersion": kind.apiVersion, "kind": kind.kind,
		"metadata": object{"resourceVersion": strconv.FormatInt(s.version, 10),
			"annotations": object{"k8s.io/initial-events-end": "true"}}}}
}

func (s *store) unsubscribe(events chan change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.watchers, events)
}

// selector is the part of a watch's question that says which objects it wants.
func selector(r *http.Request, at address) func(change) bool {
	field, value, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "=")
	return func(what change) bool {
		meta, _ := what.item["metadata"].(object)
		return what.verb == "BOOKMARK" || (field != "metadata.name" || meta["name"] == value) &&
			(at.namespace == "" || meta["namespace"] == at.namespace)
	}
}

func (s *store) watch(w http.ResponseWriter, r *http.Request, at address) {
	asProtobuf, wanted := wantsProtobuf(r, at), selector(r, at)
	send := func(what change) bool {
		if !wanted(what) {
			return true
		}
		data, err := event(at, asProtobuf, what)
		if err == nil {
			_, err = w.Write(data)
		}
		return err == nil
	}
	w.Header().Set("Content-Type", "application/json")
	if asProtobuf {
		w.Header().Set("Content-Type", protobuf+";stream=watch")
	}
	initial, events := s.subscribe(at, r.URL.Query().Get("sendInitialEvents") == "true")
	defer s.unsubscribe(events)
	for _, what := range initial {
		if !send(what) {
			return
		}
	}
	flush, timeout := http.NewResponseController(w).Flush, watchTimeout(r)
	for flush() == nil {
		select {
		case what := <-events:
			if !send(what) {
				return
			}
		case <-timeout:
			return
		case <-r.Context().Done():
			return
		}
	}
}
