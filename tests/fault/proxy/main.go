/* SPDX-License-Identifier: Apache-2.0 */

// The fault proxy stands between a controller and a real API server and misbehaves on command.
//
// It speaks TLS with HTTP/2 or HTTP/1.1 on both sides and passes Authorization through, so that the API server authenticates the
// controller and not the proxy. What goes wrong is a list of rules (rules.go) that a test sets over a second, plain HTTP port:
//
//	PUT  /rules    the rules, as JSON; replaces the list and its counters
//	POST /cut      closes every client connection now
//	POST /freeze   client connections that are open now stay open but carry nothing any more, in either direction
//	GET  /writes   the writes that passed, in order: method, path, status
//	GET  /healthz
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

func main() {
	upstream := flag.String("upstream", "", "URL of the API server")
	caFile := flag.String("ca", "", "CA of the API server")
	certFile := flag.String("cert", "", "certificate to serve with")
	keyFile := flag.String("key", "", "its key")
	http1 := flag.Bool("http1", false, "offer HTTP/1.1 only")
	flag.Parse()
	if err := run(*upstream, *caFile, *certFile, *keyFile, *http1); err != nil {
		log.Fatal(err)
	}
}

func run(upstream, caFile, certFile, keyFile string, http1 bool) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", caFile)
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	faults := newFaults(newReverseProxy(target, roots))
	data, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	conns := newConnections(data)
	go func() { log.Fatal(http.Serve(control, controlHandler(faults, conns))) }()
	server := &http.Server{Handler: faults, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	if http1 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	// The one line a test waits for: where to connect and where to command.
	fmt.Printf("https://%s http://%s\n", data.Addr(), control.Addr())
	return server.ServeTLS(conns, "", "")
}

func newReverseProxy(target *url.URL, roots *x509.CertPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // watches: every byte at once
		ErrorLog:      log.New(os.Stderr, "proxy: ", log.LstdFlags),
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if err != context.Canceled {
				log.Print(err)
			}
			panic(http.ErrAbortHandler) // as a cut line, not as an answer of the proxy's own
		},
	}
}

func controlHandler(faults *faults, conns *connections) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /rules", func(w http.ResponseWriter, r *http.Request) {
		var rules []*rule
		if err := json.NewDecoder(r.Body).Decode(&rules); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := faults.set(rules); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST /cut", func(http.ResponseWriter, *http.Request) { conns.cut() })
	mux.HandleFunc("POST /freeze", func(http.ResponseWriter, *http.Request) { conns.freeze() })
	mux.HandleFunc("GET /writes", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(faults.writes()) })
	mux.HandleFunc("GET /rules", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(faults.state()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}
