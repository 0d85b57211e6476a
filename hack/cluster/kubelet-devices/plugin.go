package main

import (
	"context"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// devicePlugin is a device plugin within this process: the device manager
// calls it as it would call one behind a socket. It prefers no devices over
// others, so which of the right NUMA node a pod gets is the manager's choice: it
// takes them in the random order of Go's maps.
type devicePlugin struct {
	pluginapi.DevicePluginClient // never called: only what is below is
	resource                     string
}

func (p *devicePlugin) API() pluginapi.DevicePluginClient { return p }
func (p *devicePlugin) Resource() string                  { return p.resource }
func (p *devicePlugin) SocketPath() string                { return "in-process" }

func (p *devicePlugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty,
	...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *devicePlugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest,
	_ ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses,
			&pluginapi.ContainerAllocateResponse{})
	}
	return response, nil
}
