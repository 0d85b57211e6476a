package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
)

const certificateLife = 365 * 24 * time.Hour

// authority signs a serving certificate for each node, as a cluster does whose
// kubelets ask for theirs (serverTLSBootstrap). They share one key.
type authority struct {
	certificate *x509.Certificate
	signer      crypto.Signer
	key         *ecdsa.PrivateKey
}

// newAuthority takes the CA of these files. Without them it makes one and leaves
// its certificate in dir/ca.crt.
func newAuthority(certFile, keyFile, dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, err
		}
		return &authority{certificate: pair.Leaf, signer: pair.PrivateKey.(crypto.Signer), key: key}, nil
	}
	made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "kubelet-devices"}, key)
	if err != nil {
		return nil, err
	}
	text, err := cert.EncodeCertificates(made)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: made, signer: key, key: key},
		writeWhole(filepath.Join(dir, "ca.crt"), string(text))
}

// issue makes the certificate of a node's kubelet, for its name and its address.
func (a *authority) issue(node string) (tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node},
		DNSNames:     []string{node},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, nil
}
