package main

import (
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// newDeviceManagerAt is the constructor of kubelet's device manager that takes
// the path of the registration socket, beside which the manager keeps its
// checkpoint. The exported one always takes /var/lib/kubelet, where only one
// node has room, and root alone may write.
//
//go:linkname newDeviceManagerAt k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManagerAt(logger klog.Logger, socketPath string, topology []cadvisorapi.Node,
	store topologymanager.Store) (*devicemanager.ManagerImpl, error)
