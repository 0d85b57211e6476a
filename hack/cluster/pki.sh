# shellcheck shell=bash
# Certificates and kubeconfigs of one cluster. Keys are ECDSA: made in no time.

# issue NAME SUBJECT EXTENSION...: a key and a certificate signed by the CA.
issue() {
	local name=$1 subject=$2 extension options=()
	shift 2
	for extension; do
		options+=(-addext "$extension")
	done
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc \
		-CA ca.crt -CAkey ca.key -keyout "$name.key" -out "$name.crt" -days 365 \
		-subj "$subject" -addext basicConstraints=critical,CA:FALSE \
		-addext keyUsage=critical,digitalSignature "${options[@]}"
}

issue_client() {
	issue "$1" "$2" extendedKeyUsage=clientAuth
}

issue_all() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc \
		-keyout ca.key -out ca.crt -days 365 -subj /CN=gpuqos-dev-ca \
		-addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,digitalSignature,keyCertSign,cRLSign
	issue apiserver /CN=kube-apiserver extendedKeyUsage=serverAuth \
		"subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"
	issue_client admin /O=system:masters/CN=admin
	issue_client kube-controller-manager /CN=system:kube-controller-manager
	issue_client kube-scheduler /CN=system:kube-scheduler
	# kwok acts for all kubelets at once, which no role of a cluster allows.
	issue_client kwok /O=system:masters/CN=kwok
	openssl ecparam -name prime256v1 -genkey -noout -out sa.key
	openssl ec -in sa.key -pubout -out sa.pub
}

# make_certificates DIR
make_certificates() {
	(cd "$1" && umask 077 && issue_all) >"$1/openssl.log" 2>&1 ||
		{ cat "$1/openssl.log" >&2 && die "openssl failed; version 3 is needed"; }
}

# kubeconfig PKI SERVER USER: everything within the one file.
kubeconfig() {
	cat <<END
apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: dev
  context: {cluster: dev, user: $3}
clusters:
- name: dev
  cluster:
    server: $2
    certificate-authority-data: $(base64 -w 0 "$1/ca.crt")
users:
- name: $3
  user:
    client-certificate-data: $(base64 -w 0 "$1/$3.crt")
    client-key-data: $(base64 -w 0 "$1/$3.key")
END
}

# make_kubeconfigs DIR SERVER: for the admin in DIR, for the programs in DIR/conf.
make_kubeconfigs() {
	local user
	for user in kube-controller-manager kube-scheduler kwok; do
		(umask 077 && kubeconfig "$1/pki" "$2" "$user" >"$1/conf/$user")
	done
	(umask 077 && kubeconfig "$1/pki" "$2" admin >"$1/kubeconfig")
}
