package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
)

const headerTimeout = 10 * time.Second

// serveKubelet serves /configz of one node on a port of its own.
func serveKubelet(ctx context.Context, a *authority, client kubernetes.Interface, k *kubelet) (*http.Server, int32, error) {
	config, err := k.configuration()
	if err != nil {
		return nil, 0, err
	}
	certificate, err := a.issue(k.name)
	if err != nil {
		return nil, 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /configz", func(w http.ResponseWriter, r *http.Request) {
		if status := allowed(r, client, k.name, "configz"); status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(config)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "configz", "node", k.name)
		}
	}()
	return server, int32(listener.Addr().(*net.TCPAddr).Port), nil
}

// configuration is the KubeletConfiguration with kubelet's defaults, as
// /configz wraps it.
func (k *kubelet) configuration() ([]byte, error) {
	defaults, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	c := &kubeletconfig.KubeletConfiguration{
		TopologyManagerPolicy: k.layout.Kubelet.TopologyPolicy,
		TopologyManagerScope:  k.layout.Kubelet.TopologyScope,
		CPUManagerPolicy:      k.layout.Kubelet.CPUPolicy,
	}
	if k.reserved > 0 {
		c.SystemReserved = map[string]string{"cpu": strconv.Itoa(k.reserved)}
	}
	c.SetGroupVersionKind(kubeletconfig.SchemeGroupVersion.WithKind("KubeletConfiguration"))
	defaults.Default(c)
	return json.Marshal(map[string]any{"kubeletconfig": c})
}

// allowed asks the API server who sends a request and whether they may, as
// kubelet does: for the node's subresource, or failing that for nodes/proxy.
func allowed(r *http.Request, client kubernetes.Interface, node, subresource string) int {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return http.StatusUnauthorized
	}
	review, err := client.AuthenticationV1().TokenReviews().Create(r.Context(),
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized
	}
	for _, name := range []string{subresource, "proxy"} {
		access := accessReview(&review.Status.User, node, name)
		access, err = client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), access, metav1.CreateOptions{})
		if err != nil {
			return http.StatusInternalServerError
		}
		if access.Status.Allowed {
			return http.StatusOK
		}
	}
	return http.StatusForbidden
}

func accessReview(user *authenticationv1.UserInfo, node, subresource string) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Version: "v1", Resource: "nodes", Name: node, Subresource: subresource},
	}}
}
