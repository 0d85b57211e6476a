// Package frames reads and writes what an API server sends on a watch in protobuf: frames of a
// length in four bytes, big-endian, and a WatchEvent whose object is "k8s\0" and an Unknown.
package frames

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var magic = []byte("k8s\x00")

// Message is what all types of k8s.io/api know how to do.
type Message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// Object wraps an object as the API server does.
func Object(apiVersion, kind string, object Message) ([]byte, error) {
	raw, err := object.Marshal()
	if err != nil {
		return nil, err
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	data, err := unknown.Marshal()
	return append(magic[:len(magic):len(magic)], data...), err
}

// Open is the reverse of Object.
func Open(data []byte, object Message) error {
	var unknown runtime.Unknown
	if !bytes.HasPrefix(data, magic) {
		return fmt.Errorf("no Kubernetes protobuf: %q", data[:min(len(data), 8)])
	}
	if err := unknown.Unmarshal(data[len(magic):]); err != nil {
		return err
	}
	return object.Unmarshal(unknown.Raw)
}

// Event makes a frame around the bytes of an object.
func Event(verb string, object []byte) ([]byte, error) {
	event := metav1.WatchEvent{Type: verb, Object: runtime.RawExtension{Raw: object}}
	data, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), nil
}

// Each cuts a recorded stream into the events and calls fn with each.
func Each(data []byte, fn func(frame []byte, event *metav1.WatchEvent) error) error {
	for len(data) >= 4 {
		size := int(binary.BigEndian.Uint32(data)) + 4
		if size > len(data) {
			break
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(data[4:size]); err != nil {
			return err
		}
		if err := fn(data[:size], &event); err != nil {
			return err
		}
		data = data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes after the last whole frame", len(data))
	}
	return nil
}

// Load reads the objects of a recording. Encoding each again has to give the recorded bytes:
// only then are pods that were changed in between what an API server would have sent.
func Load[T any, P interface {
	*T
	Message
}](path, kind string) ([]P, error) {
	var objects []P
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	err = Each(data, func(frame []byte, event *metav1.WatchEvent) error {
		if event.Type != "ADDED" {
			return nil
		}
		object := P(new(T))
		if err := Open(event.Object.Raw, object); err != nil {
			return err
		}
		raw, err := Object("v1", kind, object)
		if err != nil {
			return err
		}
		again, err := Event("ADDED", raw)
		if err == nil && !bytes.Equal(again, frame) {
			err = fmt.Errorf("%s %d of %s does not encode to its recorded bytes", kind, len(objects), path)
		}
		objects = append(objects, object)
		return err
	})
	if err == nil && len(objects) == 0 {
		err = fmt.Errorf("%s holds no %s", path, kind)
	}
	return objects, err
}
